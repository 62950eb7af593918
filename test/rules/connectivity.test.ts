import { describe, expect, it } from 'vitest'
import { endedUsers } from '../../src/areas/voice/connectivity/rules.ts'
import type { Connectivity } from '../../src/areas/voice/connectivity/schema.ts'

const trunk = (auth: Record<string, unknown>, more: Record<string, unknown> = {}): Connectivity => ({
  servers: [{ auth: { auth_user: 'pbx', auth_password: 'one', ...auth }, ...more }],
})

describe('a registration of a server', () => {
  const before = trunk({})
  const cases: [what: string, after: Connectivity | undefined, isOver: boolean][] = [
    ['nothing has changed', trunk({}), false],
    ['something else has changed', trunk({}, { server_name: 'New' }), false],
    ['another server came', { servers: [{ auth: { auth_user: 'x' } }, ...(before.servers ?? [])] }, false],
    ['the password is another', trunk({ auth_password: 'two' }), true],
    ['the user is another', trunk({ auth_user: 'other' }), true],
    ['the realm is another', { ...before, account: { auth_realm: 'far.example' } }, true],
    ['it is known by its address now', trunk({ auth_method: 'IP', ip: '203.0.113.1' }), true],
    ['it is switched off', trunk({}, { options: { enabled: false } }), true],
    ['it has gone', { servers: [] }, true],
    ['all of them have gone', undefined, true],
  ]

  it.each(cases)('is checked when %s', (_what, after, isOver) => {
    expect(endedUsers(before, after)).toEqual(isOver ? ['pbx'] : [])
  })

  it('that no server could make does not end', () => {
    expect(endedUsers(trunk({ auth_method: 'ip', ip: '203.0.113.1' }), undefined)).toEqual([])
    expect(endedUsers(trunk({}, { options: { enabled: false } }), undefined)).toEqual([])
  })
})
