import { Type } from 'typebox'
import { section } from '../../settings/keys.ts'

const packets = (invites: number, registrations: number, total: number) => ({
  invites: Type.Integer({ default: invites }),
  registrations: Type.Integer({ default: registrations }),
  total_packets: Type.Integer({ default: total }),
})
const period = (keys: ReturnType<typeof packets>) => Type.Object(keys, { default: {} })

const frontier = section({
  rate_limits: Type.Object(
    {
      account: Type.Object(
        { per_minute: period(packets(200, 100, 2000)), per_second: period(packets(50, 20, 100)) },
        { default: {} },
      ),
      device: Type.Object(
        { per_minute: period(packets(100, 20, 1000)), per_second: period(packets(5, 2, 20)) },
        { default: {} },
      ),
    },
    { default: {} },
  ),
})

export const rateLimitSettings = { frontier }

type Owned = typeof rateLimitSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
