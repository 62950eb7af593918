// How far the message bus has published the feed.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMark } from '../../src/events/marks.sql.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { conflict } from '../../src/storage/change-set.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'
import { guard } from '../support/world/call-archive.ts'

describeEngines('The position of the message bus', (engine) => {
  let opened: TestDatabase
  let store: Store
  let position: ReturnType<typeof createMark>

  beforeEach(async () => {
    opened = await openTestDatabase(engine)
    store = createStore(opened.db, systemClock)
    position = createMark(store, 'message_bus')
  })
  afterEach(() => opened.close())

  it('is 0 at first, and never moves back', async () => {
    expect(await position.read()).toBe(0)
    for (const [written, read] of [
      [5, 5],
      [9, 9],
      [7, 9],
    ] as const) {
      await store.writeUnrecorded([position.moveTo(written), guard])
      expect(await position.read()).toBe(read)
    }
  })

  it('stays where it is if the process has lost its lease', async () => {
    await store.writeUnrecorded([position.moveTo(5), guard])
    const lost = { ...guard, expect: { rows: 1, orElse: conflict } }
    await expect(store.writeUnrecorded([position.moveTo(9), lost])).rejects.toThrow('datastore_conflict')
    expect(await position.read()).toBe(5)
  })
})
