import { join } from 'node:path'
import { systemClock } from '../src/lib/clock.ts'
import { settingsKind } from '../src/settings/settings.ts'
import { ChangeSet, systemScope } from '../src/storage/change-set.ts'
import { createCollection } from '../src/storage/collection.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createStore } from '../src/storage/store.ts'
import type { Place } from './server.ts'

const free = { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 }

/** Turns throttling off, as an administrator would in `system_configs/crossbar`. The running server follows. */
export const freeRequests = async ({ dataDir, databaseUrl }: Place) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  const store = createStore(db, systemClock)
  const documents = createCollection<Record<string, object>, object>(store, {
    kind: settingsKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
  const set = new ChangeSet({ requestId: 'bench' })
  documents.insert(set, documents.draft(systemScope, { doc: { default: free }, hidden: {} }, 'crossbar'))
  await store.commit(set)
  await db.close()
}
