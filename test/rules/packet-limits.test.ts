import { describe, expect, it } from 'vitest'
import { edgeProblems } from '../../src/areas/accounts/accounts/rules.ts'
import { deviceProblems } from '../../src/areas/voice/devices/rules.ts'
import type { Json } from '../../src/lib/json.ts'

// As an import from another system, or an older version, may have left them.
const ofAccount = { account: { per_minute: { invites: 5 } }, realm: { per_minute: { invites: 1 } } }
const ofDevice = { per_minute: { invites: 5 }, per_hour: { invites: 1 } }

describe('packet limits in records with parts that the server ignores', () => {
  it('allow changes of other fields of an account', () => {
    const own = (limits: Json) => ({ rate_limits: limits }) as Parameters<typeof edgeProblems>[0]
    expect(edgeProblems(own(ofAccount), own(structuredClone(ofAccount)))).toEqual({})
    expect(Object.keys(edgeProblems(own(ofAccount), undefined))).toEqual(['rate_limits.realm'])
    expect(Object.keys(edgeProblems(own(ofAccount), own({})))).toEqual(['rate_limits.realm'])
  })

  it('allow changes of other fields of a device', () => {
    const judged = (limits: Json, before: Json) =>
      Object.keys(
        deviceProblems({ name: 'x', rate_limits: limits } as never, { rate_limits: before } as never, {
          mayRetype: true,
        }),
      )
    expect(judged(ofDevice, structuredClone(ofDevice))).toEqual([])
    expect(judged(ofDevice, { per_minute: { invites: 5 } })).toEqual(['rate_limits.per_hour'])
  })
})
