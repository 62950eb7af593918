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
    label: optionalText(128, 'Name of the app'),
    description: optionalText(2048, 'Purpose, in one sentence'),
    extended_description: Type.Optional(
      Type.String({ maxLength: 16_384, ...multiline, description: 'Long description' }),
    ),
    features: Type.Optional(
      Type.Array(Type.String({ maxLength: 512 }), {
        maxItems: 50,
        description: 'List of features',
      }),
    ),
  },
  { additionalProperties: true },
)

export const AppDescription = Type.Object(
  {
    name: optionalText(64, 'Name in clients; absent: the ID'),
    i18n: Type.Optional(
      keyedBy('^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$', Words, {
        description: 'Texts by language (`en-US`)',
      }),
    ),
    tags: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 20,
        description: 'Tags for sorting and filtering',
      }),
    ),
    icon: Type.Optional(image('A URL, or an image as a base64 data URL (PNG, JPEG, GIF, WebP, ICO)')),
    screenshots: Type.Optional(Type.Array(image('As icon'), { maxItems: 10, description: 'Screenshots' })),
    api_url: address('URL of the API for the app; absent: the API of the client'),
    source_url: address('URL of the app; absent: part of the client'),
    masqueradable: setting(true, 'Can be used for a sub-account'),
    published: setting(true, 'Visible to accounts'),
    allowed_users: Type.Optional(
      choice(['all', 'admins'], {
        description: 'Users of the app in accounts that neither installed nor uninstalled it; absent: none',
      }),
    ),
    author: optionalText(256, 'Author'),
    license: optionalText(256, 'License'),
    version: optionalText(64, 'Version'),
    price: Type.Optional(
      Type.Number({ minimum: 0, ...unit('dollars'), description: 'Shown only, not charged' }),
    ),
    urls: Type.Optional(
      Type.Object(
        { documentation: address('Documentation'), howto: address('Instructions') },
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
  api_url: anyText({ description: 'Absent: the API of this response' }),
  source_url: anyText(),
  masqueradable: must(flag()),
  allowed_users: choice(['all', 'admins', 'specific'], {
    description: 'Users of the app; absent: it is not installed',
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
