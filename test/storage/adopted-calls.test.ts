// Call records of another system that belong to months of which some records are in files.
import { expect, it } from 'vitest'
import { createLegImporter } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import type { Cdr } from '../../src/areas/calls/cdrs/schema.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { archiveAround } from '../support/world/call-archive.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'

// 2025-03-02T00:00:00Z
const march = 63_908_092_800
const april = march + 31 * 86_400
const kept = { of: async () => ({ ignore_apps: [], ignore_loopback_bowout: true }) } as unknown as Settings

describeEngines('Call records that are adopted into an archived month', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const store = createStore(opened.db, systemClock)
      const around = archiveAround(store)
      const adoption = createLegImporter({ store, settings: kept, archive: around.reading })
      return { opened, store, around, adoption }
    },
    async ({ opened, around }) => {
      await around.remove()
      await opened.close()
    },
  )

  const legsOf = (accountId: string, callIds: readonly string[], moment: number) =>
    callIds.map((call_id, at) => {
      const record: Cdr = {
        call_id,
        timestamp: moment + at,
        interaction_id: `${moment}-${call_id}`,
        custom_channel_vars: { account_id: accountId },
      }
      return { accountId, record }
    })

  const adopted = async (accountId: string, callIds: readonly string[], moment = march) => {
    const set = new ChangeSet({ requestId: 'test' })
    const judge = await place.adoption.judging()
    const rows = legsOf(accountId, callIds, moment).flatMap((leg) => {
      const judged = judge(leg)
      return typeof judged === 'object' && 'row' in judged ? [judged.row] : []
    })
    const verdicts = await place.adoption.add(set, rows, { looksFirst: false })
    if (set.changes.length > 0) await place.store.adopt(set)
    return verdicts
  }

  /** The ids of the records in the store, without those in archive files. */
  const storedIds = async (accountId: string) =>
    (await storedRows(place.store)).filter((row) => row.account_id === accountId).map(({ id }) => id)

  const callsCounted = async (accountId: string) => {
    const rows = await place.store.all<{ calls: number }>(
      "SELECT calls FROM cdr_tallies WHERE account_id = $1 AND dimension = 'all' AND seconds = 86400",
      [accountId],
    )
    return rows.map(({ calls }) => Number(calls))
  }

  it('come in late as they do by intake, and those in files are not taken again', async () => {
    const accountId = randomHex(16)
    expect(await adopted(accountId, ['a', 'b', 'c'])).toEqual(['accepted', 'accepted', 'accepted'])
    await place.around.archive()
    expect(await storedIds(accountId)).toEqual([])
    expect(await adopted(accountId, ['a', 'b', 'c'])).toEqual(['duplicate', 'duplicate', 'duplicate'])
    expect(await adopted(accountId, ['b', 'late'])).toEqual(['duplicate', 'accepted'])
    expect(await storedIds(accountId)).toEqual(['202503-late'])
    expect(await callsCounted(accountId)).toEqual([4])
  })

  it('are not counted again in statistics of a month that was dropped', async () => {
    const accountId = randomHex(16)
    await adopted(accountId, ['d', 'e'], april)
    const drop = new ChangeSet({ requestId: 'test' })
    place.store.cdrs.drop(drop, 202504)
    drop.record({ accountId, kind: 'cdrs', id: '202504', action: 'deleted' })
    await place.store.commit(drop)
    expect(await adopted(accountId, ['d', 'e'], april)).toEqual(['accepted', 'accepted'])
    expect(await callsCounted(accountId)).toEqual([2])
  })
})
