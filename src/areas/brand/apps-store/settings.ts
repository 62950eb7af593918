import { keyedBy } from '../../../lib/schema.ts'
import { section, settingsDocument } from '../../../settings/keys.ts'
import { AppDescription, appIdForm } from './schema.ts'

const appsStore = section('Apps of web clients, which accounts install', {
  apps: keyedBy(appIdForm, AppDescription, {
    default: {},
    maxProperties: 200,
    description: 'Id -> app. An id is never given to another app: accounts have installed it',
  }),
})

export const appsStoreSettings = settingsDocument('apps_store', appsStore)
