// Random histories of number operations obey the table of states, leave one owner, and count right.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { NumberPlan, NumberRecord } from '../../src/areas/numbers/phone-numbers/operations.ts'
import {
  creationStates,
  isReleasable,
  moves,
  type StateBefore,
  type TargetState,
  takenOverByCreation,
} from '../../src/areas/numbers/phone-numbers/rules.ts'
import { Failure } from '../../src/lib/failure.ts'
import type { Json } from '../../src/lib/json.ts'
import { countOf } from '../support/run/run-length.ts'
import { createNumberSource } from '../support/world/numbers.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const author = { requestId: 'history' }
const actors = ['operator', 'reseller', 'acme', 'rival'] as const
type ActorName = (typeof actors)[number]
const states = ['aging', 'available', 'in_service', 'port_in', 'reserved'] as const

type Step =
  | { what: 'create'; state: (typeof states)[number]; carrier: 'local' | 'inventory' }
  | { what: 'activate' | 'reserve' | 'port' | 'release' | 'remove' | 'age' }
  | { what: 'update'; fields: Json }

const step = fc.oneof(
  fc.record({
    what: fc.constant('create' as const),
    state: fc.constantFrom(...states),
    carrier: fc.constantFrom('local' as const, 'inventory' as const),
  }),
  fc.record({
    what: fc.constantFrom('activate', 'reserve', 'port', 'release', 'remove', 'age'),
  }) as fc.Arbitrary<Step>,
  fc.record({
    what: fc.constant('update' as const),
    fields: fc.constantFrom(
      { my: 1 },
      { cnam: { display_name: 'A name', inbound_lookup: true } },
      { prepend: { enabled: true } },
      { force_outbound: true },
    ),
  }),
)

const deed = fc.record({
  by: fc.constantFrom(...actors),
  at: fc.constantFrom<ActorName>('reseller', 'acme', 'rival'),
  number: fc.integer({ min: 0, max: 2 }),
  step: step as fc.Arbitrary<Step>,
})

/** Whether the step may lead from the state before to the planned state. */
const mayFollow = (
  before: NumberRecord | undefined,
  plan: NumberPlan,
  { what }: Step,
  rights: Parameters<typeof creationStates>[0],
) => {
  const from: StateBefore = before?.state ?? '(none)'
  const to = plan.number.state
  if (what === 'update') return from === to
  if (what === 'remove') return rights.isOperator && plan.deleted && to === 'deleted'
  if (what === 'release') {
    return before !== undefined && plan.deleted && isReleasable(before.state, before.carrier)
  }
  if (what === 'age') return to === 'available' && from === 'aging'
  if (what === 'create' || what === 'port') {
    if (before) return takenOverByCreation.has(before.state) && moves[from][to as TargetState] !== undefined
    return to === 'port_in' || (creationStates(rights) as readonly string[]).includes(to)
  }
  return moves[from][to as TargetState] !== undefined
}

/** What stored numbers must be like, whatever came before. */
const expectSound = ({ state, accountId, hidden, usedBy }: NumberRecord) => {
  if (state === 'available') expect(accountId).toBe('')
  if (state === 'in_service' || state === 'reserved' || state === 'port_in') expect(accountId).not.toBe('')
  if (accountId === '') expect(usedBy).toBe('')
  if (accountId === '') expect(Object.keys(hidden.features).filter((name) => name !== 'local')).toEqual([])
  const history = hidden.reserveHistory ?? []
  for (const [index, id] of history.entries()) expect(id).not.toBe(history[index + 1])
}

describeEngines('any history of a few numbers', (engine) => {
  const world = useWorld(engine)

  const categories = ['phone_numbers', 'number_carriers', 'number_services']

  /** What the numbers of an account count as. */
  const counted = async (accountId: string) => {
    const { account } = await world.server.areas.services.quantities.of(accountId)
    return Object.fromEntries(Object.entries(account).filter(([category]) => categories.includes(category)))
  }

  /** What the numbers of an account should count as. */
  const expectedCounts = (numbers: readonly NumberRecord[]) => {
    const counts: Record<string, Record<string, number>> = {}
    const add = (category: string, item: string) => {
      counts[category] ??= {}
      const items = counts[category]
      items[item] = (items[item] ?? 0) + 1
    }
    for (const { carrier, classifier, hidden } of numbers) {
      const features = Object.keys(hidden.features)
      add('number_carriers', carrier)
      for (const feature of features) add('number_services', feature)
      if (!features.includes('local')) add('phone_numbers', classifier)
    }
    return counts
  }

  it('obeys the table, keeps one owner a number, and counts what there is', async () => {
    const { areas, store } = world.server
    const { numbers } = areas.phoneNumbers
    const master = await areas.accounts.get(world.master.id)
    await world.operator.patch(world.reseller.path, { wnm_allow_additions: true })
    const ids: Record<ActorName, string> = {
      operator: world.master.id,
      reseller: world.reseller.id,
      acme: world.acme.id,
      rival: world.rival.id,
    }
    const next = createNumberSource()
    const seen = new Set<string>()

    const perform = async (
      number: string,
      { by, at, step: one }: { by: ActorName; at: ActorName; step: Step },
    ) => {
      const caller = await areas.accounts.get(ids[by])
      const account = await areas.accounts.get(ids[at])
      const view = numbers.view()
      const request = {
        by: { accountId: caller.id, account: caller, user: undefined },
        author,
        account,
        number,
      }
      const before = await view.get(number)
      const plan = await (async (): Promise<NumberPlan | undefined> => {
        if (one.what === 'create') {
          const fields = by === 'operator' ? { carrier_name: one.carrier } : {}
          return numbers.plan.create(view, { ...request, state: one.state, fields })
        }
        if (one.what === 'update')
          return numbers.plan.update(view, { ...request, fields: one.fields, how: 'merge' })
        if (one.what === 'port') return numbers.plan.port(view, { ...request, fields: {} })
        if (one.what === 'age') {
          if (before?.state !== 'aging') return undefined
          return numbers.free(view, author, before)
        }
        return numbers.plan[one.what](view, request)
      })()
      if (!plan) return
      await numbers.commit(plan)
      seen.add(`${before?.state ?? 'none'} to ${plan.number.state}`)
      const rights = { isOperator: by === 'operator', allowsAdditions: caller.hidden.allowsNumberAdditions }
      expect(
        mayFollow(before, plan, one, rights),
        `${before?.state} -> ${plan.number.state} by ${by}: ${one.what}`,
      ).toBe(true)
    }

    const checkAll = async (texts: readonly string[]) => {
      const found = [...(await numbers.store.findSeveral(texts)).values()]
      for (const number of found) expectSound(number)
      for (const id of Object.values(ids)) {
        const own = found.filter(({ accountId }) => accountId === id)
        const listed = await numbers.store.page({ accountId: id, limit: 100, descending: false })
        expect(listed.map((number) => number.id)).toEqual(own.map((number) => number.id).sort())
        expect(await counted(id)).toEqual(expectedCounts(own))
      }
    }

    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 40, size: 'max' }), async (deeds) => {
        const texts = [next(), next(), next()]
        for (const { number, ...rest } of deeds) {
          try {
            await perform(texts[number] as string, rest)
          } catch (error) {
            if (!(error instanceof Failure)) throw error
          }
        }
        await checkAll(texts)
        const view = numbers.view()
        const left = [...(await numbers.store.findSeveral(texts)).keys()]
        const request = {
          by: { accountId: master.id, account: master, user: undefined },
          author,
          reach: 'tree' as const,
        }
        for (const number of left) {
          await numbers.commit(await numbers.plan.remove(view, { ...request, account: master, number }))
        }
        await checkAll(texts)
        expect(await store.all('SELECT number FROM numbers LIMIT 1')).toEqual([])
      }),
      { numRuns: countOf(20, engine === 'sqlite' ? 150 : 60) },
    )
    // A walk that is refused everywhere would show nothing. There are some 25 moves; twenty histories show 12 to 20 of them.
    expect(seen.size).toBeGreaterThan(5)
  })
})
