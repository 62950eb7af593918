// PostgreSQL stores that the tests of a process use one after the other. A new database costs the server 1.5 s of processor time:
// the copy, and what each new connection reads about its tables. Putting the rows back costs 0.05 s.
import { Client } from 'pg'
import { inject } from 'vitest'
import { datastoreUnreachable, failure } from '../../../src/lib/failure.ts'
import type { CommittedBatch, Database, StaleListener } from '../../../src/storage/db.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { sharePlace } from '../run/shared-places.ts'
import { createDatabase, testConnections } from './postgres.ts'

// Partitions are emptied and filled through their tables.
const keepRows = `
  CREATE SCHEMA kept;
  CREATE TABLE kept.relations AS
    SELECT relname, relkind, relnatts, relispartition FROM pg_class WHERE relnamespace = 'public'::regnamespace;
  CREATE TABLE kept.sequences AS
    SELECT sequencename, coalesce(last_value, 1) AS last_value, last_value IS NOT NULL AS is_called
    FROM pg_sequences WHERE schemaname = 'public';
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM kept.relations WHERE relkind IN ('r', 'p') AND NOT relispartition LOOP
      EXECUTE format('CREATE TABLE kept.rows_of_%s AS SELECT * FROM public.%I', name, name);
    END LOOP;
  END $$`

/** Whether all tables and indices are there with as many columns as before, and without triggers. Other changes are not seen. */
const isWhole = `
  SELECT NOT EXISTS (SELECT FROM kept.relations LEFT JOIN pg_class USING (relname, relkind, relnatts)
      WHERE pg_class.oid IS NULL OR relnamespace <> 'public'::regnamespace)
    AND NOT EXISTS (SELECT FROM pg_trigger WHERE NOT tgisinternal) AS whole`

// Drops partitions that a test created. A large table is truncated, because nothing else would remove its dead rows.
const putRowsBack = `
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND relname NOT IN (SELECT relname FROM kept.relations) LOOP
      EXECUTE format('DROP TABLE public.%I CASCADE', name);
    END LOOP;
    FOR name IN SELECT relname FROM kept.relations WHERE relkind IN ('r', 'p') AND NOT relispartition LOOP
      IF pg_relation_size(format('public.%I', name)) > 200000 THEN
        EXECUTE format('TRUNCATE public.%I', name);
      ELSE
        EXECUTE format('DELETE FROM public.%I', name);
      END IF;
      EXECUTE format('INSERT INTO public.%I SELECT * FROM kept.rows_of_%s', name, name);
    END LOOP;
    PERFORM setval(format('public.%I', sequencename), last_value, is_called) FROM kept.sequences;
  END $$`

interface Store {
  url: string
  db: Database
  onStale: StaleListener[]
  onBatch: ((batch: CommittedBatch) => void)[]
  /** Puts the rows back; false if a test has changed a table. */
  reset(): Promise<boolean>
  close(): Promise<void>
}

const makeStore = async (template: string): Promise<Store> => {
  const serverUrl = inject('postgresUrl')
  if (!serverUrl) throw new Error('this run has no PostgreSQL')
  const { url } = await createDatabase(serverUrl, { template })
  sharePlace(inject('runFolder'), { databaseUrl: url })
  const client = new Client({ connectionString: url })
  // A test may end the connections of its database.
  client.on('error', () => undefined)
  await client.connect()
  await client.query(keepRows)
  // A transaction that a failed test left open makes another store, and no test wait.
  await client.query("SET lock_timeout = '10s'")
  const db = openPostgres(url, { connections: testConnections })
  const store: Store = {
    url,
    db,
    onStale: [],
    onBatch: [],
    async reset() {
      try {
        const { rows } = await client.query<{ whole: boolean }>(isWhole)
        if (!rows[0]?.whole) return false
        await client.query(putRowsBack)
        return true
      } catch {
        return false
      }
    },
    async close() {
      await db.close()
      await client.end().catch(() => undefined)
    },
  }
  db.onStale((keys) => {
    for (const listener of store.onStale) listener(keys)
  })
  db.onBatch((batch) => {
    for (const listener of store.onBatch) listener(batch)
  })
  return store
}

/** The same database until `close`, which waits for operations in progress and keeps the connections. */
const lent = ({ db, onStale, onBatch }: Store): Database => {
  const underWay = new Set<Promise<unknown>>()
  let isClosed = false
  const whileOpen =
    <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      if (isClosed) return Promise.reject(failure(datastoreUnreachable, {}))
      const work = act(...args).finally(() => underWay.delete(work))
      underWay.add(work)
      return work
    }
  return {
    ...db,
    all: whileOpen(db.all) as Database['all'],
    scan: whileOpen(db.scan) as Database['scan'],
    scanForLines: whileOpen(db.scanForLines) as Database['scanForLines'],
    csvLines: whileOpen(db.csvLines),
    write: whileOpen(db.write),
    exclusively: whileOpen(db.exclusively),
    onStale: (listener) => void onStale.push(listener),
    onBatch: (listener) => void onBatch.push(listener),
    async close() {
      isClosed = true
      while (underWay.size > 0) await Promise.allSettled(underWay)
      onStale.splice(0)
      onBatch.splice(0)
    },
  }
}

/** Unused stores, by the database that they are copies of. */
const free = new Map<string, Store[]>()

const nextStore = async (template: string) => {
  const known = free.get(template) ?? []
  free.set(template, known)
  for (let store = known.pop(); store; store = known.pop()) {
    if (await store.reset()) return store
    await store.close()
  }
  return makeStore(template)
}

/** A copy of a database, which no server uses. `giveBack` frees it for the next test. */
export const lendStore = async (template: string) => {
  const store = await nextStore(template)
  return {
    url: store.url,
    db: lent(store),
    giveBack: () => void free.get(template)?.push(store),
  }
}
