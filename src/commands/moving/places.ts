// The old and the new store of a move.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readServerKey } from '../../auth/keyring.ts'
import type { Config } from '../../config/config.ts'
import { messageOf } from '../../lib/error-facts.ts'
import { hostIn, mistakeInPostgresUrl, otherScheme } from '../../lib/postgres-url.ts'
import { isDistributed } from '../../storage/distribution/placements.ts'
import type { Move } from '../../storage/moving/marks.ts'
import { openPostgresSide } from '../../storage/moving/postgres-side.ts'
import { openSqliteSide } from '../../storage/moving/sqlite-side.ts'
import type { StoreSide } from '../../storage/moving/tables.ts'
import { connectTo } from '../../storage/postgres-dump.ts'
import { Refusal } from '../../storage/saved-store.ts'
import { reasonOf } from '../refusals.ts'

const storeName = 'crosspoint.db'

export const targetOf = (config: Config, to: string): Config => {
  const folder = to.startsWith('sqlite:') ? to.slice('sqlite:'.length) : ''
  const mistake = folder === '' ? mistakeInPostgresUrl(to) : undefined
  if (mistake !== undefined)
    throw new Refusal(`--to ${mistake}${mistake === otherScheme ? ', or with sqlite:DIRECTORY' : ''}`)
  const [other, engine] = folder === '' ? ['sqlite:', 'PostgreSQL'] : ['postgres://', 'SQLite']
  if ((folder === '') === (config.databaseUrl !== undefined))
    throw new Refusal(
      `--to must begin with ${other}, because the store is on ${engine} already. \`crosspoint backup\` and \`crosspoint restore\` copy a store within one engine`,
    )
  return folder === ''
    ? { ...config, databaseUrl: to }
    : { ...config, databaseUrl: undefined, dataDir: resolve(folder) }
}

const databaseIn = (url: string) => /^[^/]*\/\/[^/]*\/([^?#]*)/.exec(url)?.[1] ?? ''

export const nameOf = ({ databaseUrl, dataDir }: Config) =>
  databaseUrl === undefined
    ? `sqlite:${dataDir}`
    : `PostgreSQL ${hostIn(databaseUrl)}/${databaseIn(databaseUrl)}`

export const openSide = async ({ databaseUrl, dataDir }: Config): Promise<StoreSide> =>
  databaseUrl === undefined ? openSqliteSide(join(dataDir, storeName)) : openPostgresSide(databaseUrl)

export const refuseCitus = async ({ databaseUrl }: Config) => {
  if (databaseUrl === undefined) return
  const client = await connectTo(databaseUrl)
  try {
    if (await isDistributed(client)) throw new Refusal('a store on several servers (Citus) cannot be moved')
  } finally {
    await client.end()
  }
}

/** Returns whether this move has completed the store already. */
export const inspectTarget = async (target: Config, move: Move | undefined): Promise<boolean> => {
  if (target.databaseUrl === undefined && !existsSync(join(target.dataDir, storeName))) return false
  const side = await openSide(target).catch((error) => {
    const reason = reasonOf(error) ?? messageOf(error)
    throw new Refusal(`--to: ${reason}${move ? '' : '. Nothing was changed'}`, { cause: error })
  })
  const filling = await side.filling(move).finally(side.close)
  if (filling === 'other')
    throw new Refusal(
      `${nameOf(target)} is not empty: name an empty database, or a directory without ${storeName}`,
    )
  return filling === 'complete'
}

export const requireKey = (dataDir: string) => {
  const key = readServerKey(dataDir)
  if (!key)
    throw new Refusal(`keys/server.key is missing in ${dataDir}: run this command on a machine with the key`)
  return key
}

export const requireSameKey = (config: Config, target: Config) => {
  const other = readServerKey(target.dataDir)
  if (other && !other.equals(requireKey(config.dataDir)))
    throw new Refusal(
      `${join(target.dataDir, 'keys', 'server.key')} is the key of another store: use another directory`,
    )
}
