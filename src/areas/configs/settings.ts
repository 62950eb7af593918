import { Type } from 'typebox'
import { section } from '../../settings/keys.ts'

const configs = section({
  readable_documents: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    default: [],
    description:
      'Settings documents of which accounts see, under /configs, what the system and their reseller say, beside those that the server follows for accounts. Secrets are never shown',
  }),
})

export const configsSettings = { 'crossbar.configs': configs }

type Owned = typeof configsSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
