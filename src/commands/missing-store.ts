// A lost store, or a wrong path, must not look like a first start.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readServerKey } from '../auth/keyring.ts'
import type { Config } from '../config/config.ts'
import { hostIn } from '../lib/postgres-url.ts'
import { Refusal } from '../storage/saved-store.ts'
import { accountsInSqlite, isSqliteSetUp } from '../storage/sqlite-copy.ts'

type Place = Pick<Config, 'dataDir' | 'databaseUrl'>

const storeFile = ({ dataDir }: Place) => join(dataDir, 'crosspoint.db')

const isEmpty = async (place: Place) => {
  const { databaseUrl } = place
  if (databaseUrl === undefined) return !(await isSqliteSetUp(storeFile(place)))
  const { isPostgresSetUp } = await import('../storage/postgres-dump.ts')
  // The server reports an unreachable database itself.
  return !(await isPostgresSetUp(databaseUrl).catch(() => true))
}

/** The embedded store that an empty database would replace. */
const unusedStore = async (place: Place) => {
  if (place.databaseUrl === undefined) return undefined
  const accounts = await accountsInSqlite(storeFile(place))
  if (accounts === 0) return undefined
  return `The accounts of ${storeFile(place)} (${accounts}) are not in the database. To copy them, run \`crosspoint move --to postgres://...\` without CROSSPOINT_DATABASE_URL`
}

/** Refuses an empty store next to an older key, unless `isNew` is set. Returns a warning if an embedded store is left unused. */
export const checkForMissingStore = async (
  place: Place,
  { isNew = false } = {},
): Promise<string | undefined> => {
  if (!(await isEmpty(place))) return undefined
  const unused = await unusedStore(place)
  const key = readServerKey(place.dataDir)
  if (!key || isNew) return unused
  const { databaseUrl } = place
  const file = storeFile(place)
  const [state, remedy] = databaseUrl
    ? [
        `the database at ${hostIn(databaseUrl)} is empty`,
        'Restore a backup, or correct CROSSPOINT_DATABASE_URL',
      ]
    : existsSync(file)
      ? [
          `${file} is empty`,
          `Restore a backup (rename ${file} first), or copy the store with its crosspoint.db-wal`,
        ]
      : [
          `${file} is missing`,
          'Restore a backup, copy the store there with its crosspoint.db-wal, or correct CROSSPOINT_DATA_DIR',
        ]
  throw new Refusal(
    `${join(place.dataDir, 'keys', 'server.key')} is the key of a store, but ${state}. ${[
      unused ?? remedy,
      'To start an empty store on purpose, run `crosspoint serve --new`',
    ].join('. ')}`,
  )
}
