import { describe, expect, it } from 'vitest'
import { differencesOfLists, sampleOf } from '../../import-kazoo/comparing/differences.ts'
import { referencesIn } from '../../import-kazoo/comparing/documents.ts'
import { joinSums, sumsOf } from '../../import-kazoo/conversions/call-import.ts'
import { everything, requireSameScope, scopeOf } from '../../import-kazoo/import-run/import-scope.ts'

const accountId = 'a'.repeat(32)
const ids = (digit: string) => digit.repeat(32)

describe('what a record names', () => {
  it('is its owner, its members, the targets of its calls, and its plans with their sellers', () => {
    const user = (id: string, field: string) => ({ field, kind: 'user', accountId, id })
    expect(referencesIn('device', accountId, { owner_id: ids('1') })).toEqual([user(ids('1'), 'owner_id')])
    expect(
      referencesIn('group', accountId, {
        endpoints: { [ids('2')]: { type: 'user' }, odd: { type: 'user' } },
      }),
    ).toEqual([user(ids('2'), `endpoints.${ids('2')}`)])
    const flow = {
      module: 'user',
      data: { id: ids('3') },
      children: { _: { module: 'voicemail', data: { id: ids('4') }, children: {} } },
    }
    expect(referencesIn('callflow', accountId, { flow })).toEqual([user(ids('3'), 'flow')])
    const plans = { [ids('5')]: { vendor_id: ids('6') }, [ids('7')]: {} }
    expect(referencesIn('services', accountId, { plans })).toEqual([
      { field: `plans.${ids('5')}`, kind: 'service_plan', accountId: ids('6'), id: ids('5') },
    ])
    expect(referencesIn('user', accountId, { owner_id: '', flow, plans })).toEqual([])
  })
})

describe('the sums of calls', () => {
  it('are of the months in which legs lie, and add up in any order', () => {
    const began = 63_913_536_789
    const leg = (id: string, cost: number, duration?: number, billing?: number) => ({
      id,
      duration_seconds: duration,
      billing_seconds: billing,
      cost,
      interaction_time: began,
    })
    const one = sumsOf([leg('202501-a', 7, 10, 4), leg('202502-b', 0)])
    const other = sumsOf([leg('202502-c', 2, 5, 5)])
    const whole = {
      202501: { count: 1, duration: 10, billing: 4, cost: 7, begun: 536_789 },
      202502: { count: 2, duration: 5, billing: 5, cost: 2, begun: 1_073_578 },
    }
    expect(joinSums(one, other)).toEqual(whole)
    expect(joinSums(other, one)).toEqual(whole)
    expect(joinSums(whole, {})).toEqual(whole)
  })
})

describe('what an import leaves out', () => {
  const begun = scopeOf({ sinceMonth: 202502, only: [ids('2'), ids('1')] })

  it('applies to runs that do not name it, or name the same', () => {
    expect(scopeOf({})).toEqual(everything)
    expect(requireSameScope(begun, {})).toBe(begun)
    expect(requireSameScope(begun, { sinceMonth: 202502, only: [ids('1'), ids('2')] })).toBe(begun)
    expect(requireSameScope(undefined, {})).toEqual(everything)
  })

  it('is refused where a run names something else', () => {
    expect(() => requireSameScope(begun, { withoutCalls: true })).toThrow(
      `the import was begun with --since-month 202502 --accounts ${ids('1')},${ids('2')}, and cannot continue with --without-cdrs: continue without it, or use --undo and start again`,
    )
    expect(() => requireSameScope(everything, { sinceMonth: 202501 })).toThrow(
      'the import was begun without such options, and cannot continue with --since-month 202501',
    )
  })
})

describe('a comparison', () => {
  it('draws the same sample again, and a smaller one from its beginning', () => {
    const below = Array.from({ length: 40 }, (_, index) => index.toString(16).padStart(32, '0'))
    const all = sampleOf(below, { sample: Number.POSITIVE_INFINITY, seed: '1' })
    expect(all.toSorted()).toEqual(below)
    expect(sampleOf(below.toReversed(), { sample: 5, seed: '1' })).toEqual(all.slice(0, 5))
    expect(sampleOf(below, { sample: 40, seed: '2' })).not.toEqual(all)
  })

  it('reports rows that are missing, extra or in another order', () => {
    const row = (id: string) => ({ id })
    const place = { question: 'users' }
    expect(differencesOfLists(place, [row('a'), row('b'), row('c')], [row('c'), row('b'), row('d')])).toEqual(
      [
        { ...place, id: 'a', what: 'missing' },
        { ...place, id: 'd', what: 'extra' },
        { ...place, id: 'b', what: 'order' },
      ],
    )
  })
})
