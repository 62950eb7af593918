import { Type } from 'typebox'
import { section } from '../../settings/keys.ts'

const topup = section({
  enable: Type.Boolean({
    default: false,
    description: 'Top accounts up by themselves, as their `topup` says',
  }),
})

export const paymentSettings = { topup }

type Owned = typeof paymentSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
