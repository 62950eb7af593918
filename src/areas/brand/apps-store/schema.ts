import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  id,
  keyed,
  list,
  must,
  number,
  open,
  text,
  uniqueList,
} from '../../../lib/schema.ts'
import { appIdForm, maxBlacklisted, maxUsers } from './rules.ts'

const AllowedUsers = choice(['all', 'admins', 'specific'], {
  default: 'all',
  description: '`specific`: those under users',
})
const Users = list(open({ id: must(id()) }), { maxItems: maxUsers, default: [] })

export const Installation = open(
  { allowed_users: AllowedUsers, users: Users },
  { title: 'Installation of an app' },
)
export type Installation = Static<typeof Installation>

const appFields = {
  id: must(anyText()),
  name: must(anyText()),
  i18n: must(keyed(anyObject(), { description: 'Language -> words; `en-US` is among them' })),
  tags: must(list(anyText())),
  icon: anyText({ description: 'An address, or the name of the picture at `icon` below' }),
  api_url: anyText({ description: 'Absent: the API that answers this' }),
  source_url: anyText(),
  masqueradable: must(flag()),
  allowed_users: choice(['all', 'admins', 'specific'], {
    description: 'Who has it; absent: it is not installed',
  }),
  users: list(open({ id: must(id()) }), { description: 'Beside allowed_users' }),
  phase: anyText(),
}

export const AppRow = open(appFields, { title: 'App row' })

export const App = open(
  {
    ...appFields,
    account_id: must(id()),
    author: anyText(),
    license: anyText(),
    version: anyText(),
    price: number(),
    urls: anyObject(),
    screenshots: must(
      list(anyText(), { description: 'Addresses, or names of the pictures at `screenshot/0` and so on' }),
    ),
  },
  { title: 'App' },
)

export const Blacklist = open(
  {
    blacklist: must(
      uniqueList(text(1, 64, { pattern: appIdForm, description: 'Id of an app' }), {
        maxItems: maxBlacklisted,
      }),
    ),
  },
  { title: 'Blacklist of apps' },
)
export type Blacklist = Static<typeof Blacklist>
