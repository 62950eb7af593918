import { Type } from 'typebox'
import { choice, keyedBy, multiline } from '../../../lib/schema.ts'
import { address, flag, section, settingsDocument, unit } from '../../../settings/keys.ts'
import { appIdForm, imageForm, maxImageLength } from './rules.ts'

const optionalText = (longest: number, description: string) =>
  Type.Optional(Type.String({ maxLength: longest, description }))

const image = (description: string) =>
  Type.String({ maxLength: maxImageLength, pattern: imageForm, description })

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

const App = Type.Object(
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
    masqueradable: flag(true, 'Whether it can be used in the place of an account below'),
    published: flag(true, 'Whether anybody sees it'),
    allowed_users: Type.Optional(
      choice(['all', 'admins'], {
        description:
          'Who has the app in accounts that neither installed nor uninstalled it; absent: nobody before it is installed',
      }),
    ),
    author: optionalText(256, 'Who made it'),
    license: optionalText(256, 'Under which license it comes'),
    version: optionalText(64, 'Which version it is'),
    price: Type.Optional(Type.Number({ minimum: 0, ...unit('dollars'), description: 'Told, not charged' })),
    urls: Type.Optional(
      Type.Object(
        { documentation: address('What describes it'), howto: address('What shows it') },
        { additionalProperties: true, description: 'Where more is said of it' },
      ),
    ),
    phase: optionalText(32, 'Such as `alpha`, `beta`'),
  },
  { additionalProperties: true },
)

const appsStore = section('Apps of web clients, which accounts install', {
  apps: keyedBy(appIdForm, App, {
    default: {},
    maxProperties: 200,
    description: 'Id -> app. An id is never given to another app: accounts have installed it',
  }),
})

export const appsStoreSettings = settingsDocument('apps_store', appsStore)
