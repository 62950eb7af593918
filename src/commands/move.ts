import type { Config } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { messageOf } from '../lib/error-facts.ts'
import { randomHex } from '../lib/ids.ts'
import { beginMove, cancelMove, readMove } from '../storage/moving/marks.ts'
import { Refusal } from '../storage/saved-store.ts'
import { fill, type MoveFault, openNewStore } from './moving/fill.ts'
import { closeOldStore, withOldStore } from './moving/old-store.ts'
import { inspectTarget, nameOf, openSide, refuseCitus, requireSameKey, targetOf } from './moving/places.ts'
import { formatCount, print } from './output.ts'
import { reasonOf } from './refusals.ts'
import { status } from './statuses.ts'

interface MoveOptions {
  to?: string
  cancel?: boolean
  json?: boolean
}

interface Result {
  to: string
  tables: number
  rows: number
  seconds: number
  faults: MoveFault[]
}

const wayBack =
  'The old store takes no writes: run the same command again, or run `crosspoint move --cancel` to use the old store'

const explained = (error: unknown, explain: (reason: string) => string) => {
  const reason = reasonOf(error)
  return reason === undefined
    ? new Error(explain(messageOf(error)), { cause: error })
    : new Refusal(explain(reason))
}

/** Adds how the old store can be used again. */
const namingWayBack = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error) => {
    throw explained(error, (reason) => `${reason}. ${wayBack}`)
  })

const tableNames = async (config: Config) => {
  const side = await openSide(config)
  const tables = await side.tables().finally(side.close)
  return tables.map(({ name }) => name)
}

const moveStore = async (config: Config, to: string): Promise<Result> => {
  const began = performance.now()
  const target = targetOf(config, to)
  await refuseCitus(config)
  return withOldStore(config, async (old) => {
    const begun = await readMove(old.db)
    const name = nameOf(target)
    if (begun && begun.to !== name)
      throw new Refusal(
        `this store is being moved or was moved to ${begun.to}: complete that move, or run \`crosspoint move --cancel\``,
      )
    const move = begun ?? { id: randomHex(16), to: name }

    /** Undefined if this move has filled the new store before. */
    const prepare = async () => {
      requireSameKey(config, target)
      if (await inspectTarget(target, begun)) return undefined
      if (!begun) await beginMove(old.db, move)
      try {
        return await openNewStore(target, move, await tableNames(config))
      } catch (error) {
        if (!begun) await cancelMove(old.db)
        throw explained(error, (reason) => `${name}: ${reason}`)
      }
    }

    const db = await (begun ? namingWayBack(prepare) : prepare())
    if (!db) return { to: name, tables: 0, rows: 0, seconds: 0, faults: [] }
    try {
      const result = await namingWayBack(async () => {
        await closeOldStore(old, await tableNames(config))
        return fill({ config, target, move, db })
      })
      return { to: name, seconds: Math.round((performance.now() - began) / 1000), ...result }
    } finally {
      await db.close()
    }
  })
}

const textOf = ({ to, tables, rows, seconds }: Result, { databaseUrl, dataDir }: Config) =>
  [
    rows === 0
      ? `The store was moved to ${to} before.`
      : `Moved ${formatCount(rows)} rows of ${tables} tables to ${to} in ${formatCount(seconds)} s and verified them.`,
    databaseUrl === undefined
      ? `Unset CROSSPOINT_DATABASE_URL, set CROSSPOINT_DATA_DIR to ${dataDir} and restart the server.`
      : 'Set CROSSPOINT_DATABASE_URL to the new store and restart the servers.',
    'The old store only reads. Remove it after a backup of the new one, or run `crosspoint move --cancel` to use it again.',
  ].join('\n')

const cancel = (config: Config) =>
  withOldStore(config, async ({ db }) => {
    const move = await readMove(db)
    if (!move) throw new Refusal('no move of this store has started')
    await cancelMove(db)
    return move
  })

export const move = async ({ to, cancel: isCanceled, json }: MoveOptions) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  if (isCanceled) {
    const canceled = await cancel(config)
    print(json ? JSON.stringify({ to: canceled.to }) : 'The store takes writes again.')
    return status.done
  }
  if (to === undefined) throw new Refusal('--to is missing: postgres://... or sqlite:DIRECTORY')
  const result = await moveStore(config, to)
  const { faults } = result
  const isSound = faults.length === 0
  if (json) print(JSON.stringify({ ...result, sound: isSound }))
  else if (isSound) print(textOf(result, targetOf(config, to)))
  else {
    for (const { check, place, reason } of faults) print(`${check}: ${place}: ${reason}`)
    print('The new store is not complete: remove it, run `crosspoint move --cancel`, and begin again.')
  }
  return isSound ? status.done : status.failed
}
