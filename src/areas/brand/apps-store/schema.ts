import { type Static, Type } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  id,
  keyed,
  keyedBy,
  list,
  multiline,
  must,
  number,
  open,
  text,
  uniqueList,
} from '../../../lib/schema.ts'
import { address, flag as setting, unit } from '../../../settings/keys.ts'

/** `blacklist` is a separate path. */
export const appIdForm = '^(?!blacklist$)[A-Za-z0-9_-]{1,64}$'

export const maxUsers = 1000
export const maxBlacklisted = 200

const optionalText = (longest: number, description: string) =>
  Type.Optional(Type.String({ maxLength: longest, description }))

/** An address or a data URL. */
const image = (description: string) =>
  Type.String({ maxLength: 200_000, pattern: '^(?:https?://|data:image/[a-z.+-]+;base64,)', description })

const Words = Type.Object(
  {
    label: optionalText(128, 'How the app is called'),
    description: optionalText(2048, 'What it is for, in a sentence'),
    extended_description: Type.Optional(
      Type.String({ maxLength: 16_384, ...multiline, description: 'The same at length' }),
    ),
    features: Type.Optional(
      Type.Array(Type.String({ maxLength: 512 }), {
        maxItems: 50,
        description: 'What it can do, point by point',
      }),
    ),
  },
  { additionalProperties: true },
)

export const AppDescription = Type.Object(
  {
    name: optionalText(64, 'What clients know it by; absent: its id'),
    i18n: Type.Optional(
      keyedBy('^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$', Words, {
        description: 'Language (`en-US`) -> words',
      }),
    ),
    tags: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), { maxItems: 20, description: 'What clients sort apps by' }),
    ),
    icon: Type.Optional(
      image('An address, or a picture as a data URL in base64 (PNG, JPEG, GIF, WebP, ICO)'),
    ),
    screenshots: Type.Optional(
      Type.Array(image('As icon'), { maxItems: 10, description: 'What it looks like' }),
    ),
    api_url: address('Where the app finds its API; absent: clients take the one they know'),
    source_url: address('Where the app is loaded from; absent: clients bring it along'),
    masqueradable: setting(true, 'Whether it can be used for a sub-account'),
    published: setting(true, 'Whether it is visible'),
    allowed_users: Type.Optional(
      choice(['all', 'admins'], {
        description:
          'Users of the app in accounts that neither installed nor uninstalled it; absent: none before it is installed',
      }),
    ),
    author: optionalText(256, 'Who made it'),
    license: optionalText(256, 'Under which license it comes'),
    version: optionalText(64, 'Which version it is'),
    price: Type.Optional(Type.Number({ minimum: 0, ...unit('dollars'), description: 'Told, not charged' })),
    urls: Type.Optional(
      Type.Object(
        { documentation: address('What describes it'), howto: address('What shows it') },
        { additionalProperties: true, description: 'URL of more information' },
      ),
    ),
    phase: optionalText(32, 'Such as `alpha`, `beta`'),
  },
  { additionalProperties: true },
)

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
export type AppDescription = Static<typeof AppDescription>
export type AppWords = Static<typeof Words>

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
    description: 'Its users; absent: it is not installed',
  }),
  users: list(open({ id: must(id()) }), { description: 'In addition to allowed_users' }),
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
