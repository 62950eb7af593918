import pg from 'pg'
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import type { World } from '../support/world/world.ts'
import { buildWorld, describeEngines } from '../support/world/world.ts'

/** Leaves the store no room for anything more, until it is given back. */
const fill = async ({ engine, place, server: { store } }: World): Promise<() => Promise<void>> => {
  if (engine === 'sqlite') {
    const [row] = await store.all<{ pages: number }>('SELECT page_count AS pages FROM pragma_page_count')
    const limitTo = (pages: number) =>
      store.writeUnrecorded([{ sql: `PRAGMA max_page_count = ${pages}`, params: [] }])
    await limitTo(Number(row?.pages))
    return () => limitTo(1_000_000)
  }
  const client = new pg.Client({ connectionString: place.databaseUrl })
  await client.connect()
  await client.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`)
  for (const table of ['records', 'audit_log', 'leases', 'work'])
    await client.query(
      `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION full_disk()`,
    )
  return async () => {
    await client.query('DROP FUNCTION full_disk CASCADE')
    await client.end()
  }
}

const large = (letter: string) => ({ notes: letter.repeat(60_000) })

describeEngines('a store without room', (engine) => {
  it('answers 507, changes nothing, says so at /readyz, and works again when there is room', async () => {
    const world = await buildWorld(engine)
    const { path } = await world.device(world.acme, { name: 'Full' })
    await world.snapshot()
    const ready = async () => (await world.anonymous.get('/readyz')).status
    expect(await ready()).toBe(200)

    const empty = await fill(world)
    let notes = ''
    let refused = await world.ada.patch(path, large('a'))
    for (let turn = 0; refused.status === 200 && turn < 200; turn += 1) {
      notes = refused.data.notes
      refused = await world.ada.patch(path, large('bc'[turn % 2] ?? ''))
    }
    expect(refused).toFailWith(507, 'datastore_full', {
      message: 'the disk or database is full; the change was not saved. The operator must free space',
    })
    expect(await ready()).toBe(503)
    await world.unchanged(async () => {
      const key = { headers: { 'idempotency-key': 'no-room' } }
      expect((await world.ada.patch(path, large('d'), key)).status).toBe(507)
      expect((await world.ada.put(`${world.acme.path}/devices`, { name: 'No', ...large('e') })).status).toBe(
        507,
      )
    })
    // Stored data can be read, and is what was acknowledged last.
    expect((await world.ada.get(path)).data.notes ?? '').toBe(notes)

    await empty()
    await eventually(ready, (status) => status === 200)
    expect(await world.ada.patch(path, large('f'))).toSucceed()
    expect((await world.ada.get(path)).data.notes).toBe(large('f').notes)
    const messages = world.takeErrors().map((entry) => JSON.stringify(entry))
    expect(messages.filter((message) => !/a request failed|a scheduled job failed/.test(message))).toEqual([])
    await world.close()
  })
})
