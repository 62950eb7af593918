import { keyedBy } from '../../../lib/schema.ts'
import { section, settingsDocument } from '../../../settings/keys.ts'
import { AppDescription, appIdForm } from './schema.ts'

const appsStore = section('Apps of web clients that accounts can install', {
  apps: keyedBy(appIdForm, AppDescription, {
    default: {},
    maxProperties: 200,
    description: 'App by ID. Never reuse an ID for another app: accounts have installed it',
  }),
})

export const appsStoreSettings = settingsDocument('apps_store', appsStore)
