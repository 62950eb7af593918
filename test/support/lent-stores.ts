// PostgreSQL stores that the worlds of a process use one after the other. A new database costs the server 1.5 s of processor time:
// the copy, and what each new connection reads about its tables. Putting the rows back costs 0.05 s.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { failure } from '../../src/lib/failure.ts'
import type { CommittedBatch, Database, StaleListener } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { makePlace, type Place } from './databases.ts'
import { sharePlace } from './shared-places.ts'

// Partitions are emptied and filled through their tables.
const keepRows = `
  CREATE SCHEMA kept;
  CREATE TABLE kept.relations AS
    SELECT relname, relkind, relispartition FROM pg_class WHERE relnamespace = 'public'::regnamespace;
  CREATE TABLE kept.sequences AS
    SELECT sequencename, coalesce(last_value, 1) AS last_value, last_value IS NOT NULL AS is_called
    FROM pg_sequences WHERE schemaname = 'public';
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM kept.relations WHERE relkind IN ('r', 'p') AND NOT relispartition LOOP
      EXECUTE format('CREATE TABLE kept.rows_of_%s AS SELECT * FROM public.%I', name, name);
    END LOOP;
  END $$`

/** Whether the tables that were there still are. */
const isWhole = `
  SELECT NOT EXISTS (SELECT FROM kept.relations LEFT JOIN pg_class USING (relname, relkind)
    WHERE pg_class.oid IS NULL OR relnamespace <> 'public'::regnamespace) AS whole`

// A partition that a test made goes. A large table is truncated, because nothing else would remove its dead rows.
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
  place: Place
  db: Database
  onStale: StaleListener[]
  onBatch: ((batch: CommittedBatch) => void)[]
  /** Puts the rows back; false if a test has removed a table. */
  reset(): Promise<boolean>
}

const makeStore = async (original: Place): Promise<Store> => {
  const place = await makePlace('postgres', { copyOf: original })
  const { databaseUrl } = place
  if (!databaseUrl) throw new Error('this run has no PostgreSQL')
  sharePlace(inject('runFolder'), place)
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(keepRows)
  const db = openPostgres(databaseUrl, { connections: 6 })
  const store: Store = {
    place,
    db,
    onStale: [],
    onBatch: [],
    async reset() {
      const { rows } = await client.query<{ whole: boolean }>(isWhole)
      if (!rows[0]?.whole) return false
      await client.query(putRowsBack)
      return true
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

/** The same database until it is closed, which waits for what is under way and keeps the connections. */
const lent = ({ db, onStale, onBatch }: Store): Database => {
  const underWay = new Set<Promise<unknown>>()
  let isClosed = false
  const whileOpen =
    <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      if (isClosed) return Promise.reject(failure('datastore_unreachable', {}))
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

const free: Store[] = []

const nextStore = async (original: Place) => {
  for (let store = free.pop(); store; store = free.pop()) {
    if (await store.reset()) return store
    await store.db.close()
  }
  return makeStore(original)
}

/** A copy of a place, which no server uses. Removing the copy frees its database for the next world. */
export const lendStore = async (original: Place): Promise<{ place: Place; db: Database }> => {
  const store = await nextStore(original)
  const dataDir = await mkdtemp(join(tmpdir(), 'crosspoint-test-'))
  await cp(original.dataDir, dataDir, { recursive: true })
  return {
    place: {
      dataDir,
      databaseUrl: store.place.databaseUrl,
      async remove() {
        await rm(dataDir, { recursive: true, force: true })
        free.push(store)
      },
    },
    db: lent(store),
  }
}
