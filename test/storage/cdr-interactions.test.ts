// Which call each leg of a switch without interactions belongs to.
import { beforeEach, expect, it } from 'vitest'
import type { Interaction } from '../../src/areas/calls/cdrs/intake/rules.ts'
import { createIntakeStore, type LegName, legKeyOf } from '../../src/areas/calls/cdrs/intake/store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

describeEngines('Interactions of legs', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const store = createStore(opened.db, systemClock)
      return { opened, store, intake: createIntakeStore(store) }
    },
    ({ opened }) => opened.close(),
  )
  const early: Interaction = { time: 1000, key: 'early' }
  const late: Interaction = { time: 2000, key: 'late' }
  let account: string
  let rival: string

  beforeEach(() => {
    account = randomHex(16)
    rival = randomHex(16)
  })

  const leg = (callId: string, accountId = account): LegName => ({ accountId, callId })

  const insert = async (...all: readonly (readonly [LegName, Interaction])[]) => {
    const set = new ChangeSet({ requestId: 'test' })
    for (const [name, interaction] of all) place.intake.insertInteraction(set, name, interaction)
    await place.store.writeUnrecorded(set.statements)
  }

  /** The keys of the interactions of legs, in the order of the legs. */
  const keysOf = async (...legs: readonly LegName[]) => {
    const found = await place.intake.interactionsOf(legs)
    return legs.map((one) => found.get(legKeyOf(one))?.key)
  }

  it('are found by account and call id', async () => {
    await insert([leg('a'), early], [leg('b'), late], [leg('a', rival), late])
    expect(await place.intake.interactionsOf([leg('a'), leg('a', rival), leg('c'), leg('b', rival)])).toEqual(
      new Map([
        [legKeyOf(leg('a')), early],
        [legKeyOf(leg('a', rival)), late],
      ]),
    )
  })

  it('are inserted once: a second insert for the same leg is a conflict', async () => {
    await insert([leg('a'), early])
    await expect(insert([leg('a'), late])).rejects.toThrow('datastore_conflict')
    expect(await keysOf(leg('a'))).toEqual(['early'])
  })

  it('are replaced for all legs of one interaction of one account', async () => {
    const other: Interaction = { time: early.time, key: 'other' }
    await insert([leg('a'), early], [leg('b'), early], [leg('c'), other], [leg('a', rival), early])
    await place.store.writeUnrecorded([place.intake.renaming(account, early, late)])
    expect(await keysOf(leg('a'), leg('b'), leg('c'), leg('a', rival))).toEqual([
      'late',
      'late',
      'other',
      'early',
    ])
  })

  it('are deleted if they began before a moment', async () => {
    await insert([leg('a'), early], [leg('b'), late], [leg('c', rival), early])
    await place.intake.forgetInteractions(late.time, new AbortController().signal)
    expect(await keysOf(leg('a'), leg('b'), leg('c', rival))).toEqual([undefined, 'late', undefined])
  })
})
