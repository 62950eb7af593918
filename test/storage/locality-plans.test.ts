import { expect, it } from 'vitest'
import { createLocalities } from '../../src/areas/numbers/phone-numbers/localities/operations.ts'
import type { Locality } from '../../src/areas/numbers/phone-numbers/localities/rules.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { createStore } from '../../src/storage/store.ts'
import { planOf } from '../support/matchers/plans.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

const rows = Array.from(
  { length: 3000 },
  (_, index): Locality => ({
    prefix: `+1${2_000_000 + index}`,
    country: 'US',
    region: 'CA',
    city: `City ${index % 50}`,
    rateCenter: 'CENTER',
    lata: '722',
    latitude: '',
    longitude: '',
  }),
)

async function* inOneBatch() {
  yield rows
}

describeEngines('A locality that was just imported', (engine) => {
  const place = sharedBySuite(
    () => openTestDatabase(engine, { onOneServer: true }),
    (opened) => opened.close(),
  )

  it('is found by its prefix, although the database knows only rows of an earlier import', async () => {
    const asked: { sql: string; params: readonly Value[] | undefined }[] = []
    const store = createStore(
      {
        ...place.db,
        all: async <R = Row>(sql: string, params?: readonly Value[]) => {
          if (sql.includes('localities l')) asked.push({ sql, params })
          return place.db.all<R>(sql, params)
        },
      },
      systemClock,
    )
    await store.fence()
    const localities = createLocalities(store)
    await localities.replaceAll({ requestId: 'test' }, inOneBatch())
    await place.db.exclusively(async (run) => void (await run('ANALYZE localities')))
    await localities.replaceAll({ requestId: 'test' }, inOneBatch())
    expect((await localities.ofMany(['+12000007000'])).get('+12000007000')).toEqual(rows[7])
    expect(asked).toHaveLength(1)
    for (const { sql, params } of asked)
      expect(await planOf(place.db, sql, params)).toMatch(
        engine === 'sqlite'
          ? /SEARCH l USING PRIMARY KEY \(generation=\? AND prefix=\?\)/
          : /using localities_pkey[\s\S]*Index Cond: .*AND \(prefix = /,
      )
  })
})
