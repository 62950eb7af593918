import { anyObject, anyText, choice, flag, id, list, must, open, text } from '../../../lib/schema.ts'

const fields = {
  name: must(text(1, 128)),
  provider_name: must(choice(['duo', 'otp'])),
  enabled: must(flag()),
  settings: anyObject(),
}

export const Provider = open(fields, { title: 'Second-factor provider' })

export const ProviderRecord = open({ id: must(id()), ...fields }, { title: 'Second-factor provider record' })

export const ProviderRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    provider_name: must(anyText()),
    enabled: must(flag()),
  },
  { title: 'Second-factor provider row' },
)

export const Providers = open(
  {
    configured: must(list(ProviderRow, { description: "The account's own" })),
    multi_factor_providers: must(list(ProviderRow, { description: "The system's" })),
  },
  { title: 'Second-factor providers of an account' },
)
