import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type FieldRow, itHoldsRows } from '../support/matchers/field-rows.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24'] }

const rows: FieldRow[] = [
  {
    says: 'order: string, `allow,deny` or `deny,allow`, required',
    takes: ['allow,deny', 'deny,allow'],
    refuses: { required: [undefined], enum: ['allow', 'allow, deny', ''] },
  },
  {
    says: 'cidrs: array of string, IPv4 subnets in CIDR notation, required',
    takes: [[], ['192.0.2.0/24', '198.51.100.7/32', '0.0.0.0/0']],
    refuses: {
      required: [undefined],
      type: ['192.0.2.0/24'],
      '0.type': [[5]],
      '0.wrong_format': [['192.0.2.0/33'], ['192.0.2.300/24'], ['2001:db8::/32'], ['everybody']],
    },
  },
  {
    says: 'user_agent: string, a regular expression, not required',
    takes: [undefined, '^Yealink', 'Snom (3|7)\\d\\d'],
    refuses: { type: [5], wrong_format: ['(', '[a-'] },
  },
]

describeAnyEngine('The access list', (engine) => {
  const world = useWorld(engine)
  const at = ({ path }: { path: string }) => `${path}/access_lists`
  const stored = (fields: Json) => JSON.parse(JSON.stringify({ ...list, ...fields }))

  itHoldsRows(world, rows, {
    write: (fields) => world.ada.post(at(world.acme), { ...list, ...fields }),
    read: () => world.ada.get(at(world.acme)),
    shows: stored,
  })

  it('is stored under an account or under a device', async () => {
    const account = await world.account(world.acme)
    const device = await world.device(account)
    expect(await world.ada.post(at(account), list)).toSucceedWith(list)
    const narrow = { ...list, user_agent: '^Yealink' }
    expect(await world.ada.post(at(device), narrow)).toSucceedWith(narrow)
    expect(await world.ada.get(at(account))).toSucceedWith(list)
    expect(await world.ada.get(at(device))).toSucceedWith(narrow)
  })

  it('is an empty `data` object where an account has none', async () => {
    expect(await world.rex.get(at(world.rival))).toSucceedWith({})
  })

  /** Whether an edge lets a phone of the account in. */
  const letsIn = async ({ realm }: TestAccount, address: string, user_agent = '') => {
    const query = { realm, username: 'desk', address, user_agent }
    return (await world.operator.get('/v2/edge', { query })).data.allowed
  }

  it.each([
    ['deny,allow', 'all except those within the CIDRs', false],
    ['allow,deny', 'those within the CIDRs alone', true],
  ])('order %s lets in %s', async (order, _whom, within) => {
    const account = await world.account()
    await world.device(account, { sip: { username: 'desk' } })
    await world.operator.post(at(account), { order, cidrs: ['192.0.2.0/24'] })
    expect(await letsIn(account, '192.0.2.7')).toBe(within)
    expect(await letsIn(account, '198.51.100.7')).toBe(!within)
  })

  it('user_agent, of a device, is matched against the SIP user agent', async () => {
    const account = await world.account()
    const device = await world.device(account, { sip: { username: 'desk' } })
    await world.operator.post(at(device), { ...list, user_agent: '^Yealink' })
    expect(await letsIn(account, '192.0.2.7', 'Yealink T46')).toBe(true)
    expect(await letsIn(account, '192.0.2.7', 'friendly-scanner')).toBe(false)
  })

  it('is read and written only by the account and those above it', async () => {
    expect(await world.ross.get(at(world.acme))).toSucceed()
    await world.unchanged(async () => {
      for (const answer of [
        await world.rex.get(at(world.acme)),
        await world.rex.post(at(world.acme), list),
        await world.rex.delete(at(world.acme)),
      ])
        expect(answer).toFailWith(403, 'forbidden')
    })
  })
})
