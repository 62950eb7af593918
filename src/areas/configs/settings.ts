import { Type } from 'typebox'
import { section } from '../../settings/keys.ts'

const configs = section('What accounts see of settings above them', {
  readable_documents: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    default: [],
    description:
      'Settings documents of clients, beside those that the server follows: they are kept for the system and for accounts, and under /configs accounts see what the system and their reseller say. Secrets are never shown. Documents of other names are 404',
  }),
})

export const configsSettings = { 'crossbar.configs': configs }

type Owned = typeof configsSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
