import { expect, it } from 'vitest'
import { storedCdrs } from '../support/stored-cdrs.ts'
import { describeEngines, useWorld } from '../support/world.ts'

// The tests' clock stands at 2026-01-05.
const january = 63_934_444_800 + 86_400

describeEngines('The retention of call detail records', (engine) => {
  const world = useWorld(engine)
  const round = 'cdr-retention'

  const monthsBack = (count: number) => january - count * 30.4 * 86_400

  const send = async (...ages: number[]) => {
    const records = ages.map((age) => ({
      call_id: `leg-of-${age}`,
      timestamp: Math.floor(monthsBack(age)),
      custom_channel_vars: { account_id: world.acme.id },
    }))
    expect((await world.operator.put('/v2/cdrs', records)).data.accepted).toBe(ages.length)
  }

  const ids = async () => (await storedCdrs(world.server.store)).map(({ id }) => id)

  const deletions = async () => {
    const rows = await world.server.store.all<{ account_id: string; record_id: string; before_doc: string }>(
      "SELECT account_id, record_id, before_doc FROM audit_log WHERE kind = 'cdrs' AND action = 'deleted' ORDER BY id",
    )
    return rows.map(({ account_id, record_id, before_doc }) => [
      account_id,
      record_id,
      JSON.parse(before_doc),
    ])
  }

  it('is without end unless it is set', async () => {
    await send(0, 1, 2, 3)
    await world.unchanged(() => world.server.rounds.runNow(round))
    expect(await ids()).toEqual(['202510-leg-of-3', '202511-leg-of-2', '202512-leg-of-1', '202601-leg-of-0'])
  })

  it('leaves whole months beside the current one, and tells the audit log what went', async () => {
    await world.operator.patch('/v2/system_configs/cdr', { default: { retention_months: 2 } })
    await world.server.rounds.runNow(round)
    expect(await ids()).toEqual(['202511-leg-of-2', '202512-leg-of-1', '202601-leg-of-0'])
    expect(await deletions()).toEqual([['system', '202510', { month: 202510, records: 1 }]])
    await world.unchanged(() => world.server.rounds.runNow(round))
    await world.configure('cdr', { retention_months: 1 })
    await world.server.rounds.runNow(round)
    expect(await ids()).toEqual(['202512-leg-of-1', '202601-leg-of-0'])
  })

  it('cannot be set to nothing at all', async () => {
    const answer = await world.unchanged(() =>
      world.operator.patch('/v2/system_configs/cdr', { default: { retention_months: 0 } }),
    )
    expect(answer).toFailWith(400, 'validation error')
  })

  it('keeps the sums of what has gone, and does not count twice what is brought back', async () => {
    const sums = () => world.server.store.all('SELECT * FROM cdr_tallies ORDER BY 1, 2, 3, 4, 5')
    const before = await sums()
    await send(3)
    expect(await ids()).toContain('202510-leg-of-3')
    expect(await sums()).toEqual(before)
  })
})
