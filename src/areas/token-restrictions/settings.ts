import { section } from '../../settings/keys.ts'

const tokenRestrictions = section({})

export const tokenRestrictionSettings = { 'crossbar.token_restrictions': tokenRestrictions }

type Owned = typeof tokenRestrictionSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
