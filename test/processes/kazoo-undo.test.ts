// An import that is being undone when its process is killed.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dataSet } from '../support/kazoo/data-set.ts'
import { type House, openHouse } from '../support/kazoo/house.ts'
import { type Kazoo, startKazoo } from '../support/kazoo/stand-in.ts'
import { differenceOf } from '../support/matchers/snapshot.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines } from '../support/servers/databases.ts'

describeEngines('an import that is killed while it is undone', (engine) => {
  let kazoo: Kazoo
  let house: House

  beforeAll(async () => {
    kazoo = await startKazoo(dataSet())
    house = await openHouse(engine)
  })

  afterAll(async () => {
    await house.close()
    await kazoo.close()
  })

  const monthsThere = async () => {
    await house.store.fence()
    return house.store.cdrs.months()
  }

  const write = (sql: string) => house.db.write({ statements: [{ sql, params: [] }], stale: [] })

  /** While this trigger exists, dropping the last month never ends. */
  const stuck =
    engine === 'postgres'
      ? {
          sql: [
            `CREATE FUNCTION stuck() RETURNS trigger AS $$ BEGIN
              PERFORM pg_sleep(600); RETURN NEW; END $$ LANGUAGE plpgsql`,
            `CREATE TRIGGER stuck BEFORE INSERT OR UPDATE ON monthly_tables FOR EACH ROW
              WHEN (NEW.state = 'dropped' AND NEW.month = 202502) EXECUTE FUNCTION stuck()`,
          ],
          end: [
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE wait_event = 'PgSleep' AND datname = current_database()`,
            'DROP TRIGGER stuck ON monthly_tables',
            'DROP FUNCTION stuck()',
          ],
        }
      : {
          sql: [
            `CREATE TRIGGER stuck BEFORE INSERT ON monthly_tables
              WHEN NEW.state = 'dropped' AND NEW.month = 202502
              BEGIN SELECT count(*) FROM (
                WITH RECURSIVE counting(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM counting) SELECT x FROM counting
              ); END`,
          ],
          end: ['DROP TRIGGER stuck'],
        }

  it('is known to the next command, neither continues nor is finished, and is completed when it is undone again', async () => {
    const before = await house.snapshot()
    expect((await house.importing(kazoo.url)).status).toBe(2)
    const [first, ...others] = await monthsThere()
    expect(others).toEqual([202502])
    for (const sql of stuck.sql) await write(sql)
    const undoing = house.person.start('import', 'kazoo', '--undo')
    await eventually(monthsThere, (months) => !months.includes(Number(first)))
    undoing.process.kill('SIGKILL')
    await undoing.ended
    for (const sql of stuck.end) await write(sql)
    expect(await monthsThere()).toEqual([202502])

    const half = await house.snapshot()
    const sentence =
      'an import from Kazoo is being undone, so writes are disabled: complete it with `crosspoint import kazoo'
    for (const args of [[kazoo.url], [kazoo.url, '--follow'], [kazoo.url, '--finish']]) {
      const { status, errors } = await house.importing(...args)
      expect(status).toBe(1)
      expect(errors).toContain(sentence)
    }
    expect((await house.person.run('audit', 'verify')).errors).toContain(sentence)
    const server = await house.startServer()
    // Lines of its log are written some at once.
    await eventually(
      async () => server.errors(),
      (errors) => errors.includes(sentence),
    )
    expect(differenceOf(half, await house.snapshot()).gone).toEqual([])

    const { status, errors } = await house.importing('--undo')
    expect(status).toBe(0)
    expect(errors).toContain('the store is back in its state before the import\n')
    expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
    expect((await house.importing(kazoo.url)).status).toBe(2)
  })
})
