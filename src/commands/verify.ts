import { join } from 'node:path'
import { createArchiveRegister } from '../areas/calls/cdrs/archive/store.ts'
import { isKeyOf } from '../auth/key-handover.ts'
import { readServerKey } from '../auth/keyring.ts'
import type { Config } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import type { Check, Fault } from '../lib/check.ts'
import { systemClock } from '../lib/clock.ts'
import { messageOfReading } from '../lib/error-facts.ts'
import { openObjectStore } from '../object-store/open.ts'
import { createSettings } from '../settings/settings.ts'
import { upgradeOfPostgres } from '../storage/postgres-dump.ts'
import { Refusal } from '../storage/saved-store.ts'
import { upgradeOfSqlite } from '../storage/sqlite-copy.ts'
import type { Store } from '../storage/store.ts'
import { upgrades } from '../storage/upgrades.ts'
import { bareAreas } from './bare-areas.ts'
import { openStore } from './open-store.ts'
import { formatCount, print } from './output.ts'
import { status } from './statuses.ts'
import { checkAccounts, checkNames } from './verification/accounts.sql.ts'
import { createVerification } from './verification/audit.sql.ts'
import { checkCallArchive } from './verification/call-archive.ts'
import { checkLedgers } from './verification/ledgers.sql.ts'
import { checkDocuments, checkPostgres, checkSqlite, hasAmcheck } from './verification/store.sql.ts'

interface Plan {
  checks: Check[]
  /** Skipped checks, with reasons. */
  leftOut: string[]
}

interface VerifyReport {
  checks: { name: string; lookedAt: number; sound: boolean }[]
  faults: (Fault & { check: string })[]
  /** Faults beyond the printed ones. */
  untold: number
  leftOut: readonly string[]
}

const maxTold = 1000

/** A verification must not upgrade the store. */
const requireThisVersion = async ({ databaseUrl, dataDir }: Config) => {
  const reached = await (databaseUrl
    ? upgradeOfPostgres(databaseUrl)
    : upgradeOfSqlite(join(dataDir, 'crosspoint.db')))
  const known = upgrades.at(-1)?.number ?? 0
  if (reached !== known)
    throw new Refusal(
      `the store is at upgrade ${reached}, this version needs ${known}: verify it with the version that wrote it`,
    )
}

const checkAudit = (store: Store): Check => ({
  name: 'audit',
  async run(tell) {
    const { entries, faults } = await createVerification(store).all(() => undefined)
    for (const { accountId, entryId, sequence, reason } of faults)
      tell({
        place: `account ${accountId}`,
        reason: `entry ${entryId ?? `with sequence ${sequence}`} ${reason}`,
      })
    return entries
  },
})

const checkKey = (store: Store, key: Buffer): Check => ({
  name: 'key',
  async run(tell) {
    if ((await isKeyOf(store, key)) === false)
      tell({
        place: 'keys/server.key',
        reason: 'it does not match this data store: restore the key that belongs to it',
      })
    return 1
  },
})

const engineCheck = async (store: Store, { databaseUrl }: Config): Promise<Plan> => {
  if (!databaseUrl) return { checks: [checkSqlite(store)], leftOut: [] }
  if (await hasAmcheck(databaseUrl)) return { checks: [checkPostgres(databaseUrl)], leftOut: [] }
  return { checks: [], leftOut: ['indices: the database has no extension amcheck'] }
}

const keyCheck = (store: Store, key: Buffer | undefined, { dataDir }: Config): Plan =>
  key
    ? { checks: [checkKey(store, key)], leftOut: [] }
    : { checks: [], leftOut: [`secrets: keys/server.key is not in ${dataDir}`] }

const archiveCheck = async (store: Store, { callArchive }: Config): Promise<Plan> => {
  const objects = openObjectStore(callArchive)
  if (objects) return { checks: [checkCallArchive(store, objects)], leftOut: [] }
  const files = await createArchiveRegister(store).live()
  const leftOut = ['call archive: CROSSPOINT_CALL_ARCHIVE is not set']
  return { checks: [], leftOut: files.length > 0 ? leftOut : [] }
}

const countsCheck = (store: Store) => {
  const settings = createSettings(store.records, 'command')
  const { reconciliation } = bareAreas({ store, settings }).offers
  return checkAccounts(store, reconciliation.differences)
}

const planOf = async (store: Store, config: Config): Promise<Plan> => {
  const key = readServerKey(config.dataDir)
  const counts = countsCheck(store)
  const ofKey = keyCheck(store, key, config)
  const ofEngine = await engineCheck(store, config)
  const ofArchive = await archiveCheck(store, config)
  return {
    checks: [
      ...ofEngine.checks,
      ...ofKey.checks,
      checkDocuments(store, key !== undefined),
      checkAudit(store),
      checkLedgers(store),
      counts,
      checkNames(store),
      ...ofArchive.checks,
    ],
    leftOut: [...ofEngine.leftOut, ...ofKey.leftOut, ...ofArchive.leftOut],
  }
}

const perform = async ({ checks, leftOut }: Plan): Promise<VerifyReport> => {
  const found: VerifyReport = { checks: [], faults: [], untold: 0, leftOut }
  for (const check of checks) {
    let faults = 0
    const tell = (fault: Fault) => {
      faults += 1
      if (faults <= maxTold) found.faults.push({ check: check.name, ...fault })
      else found.untold += 1
    }
    const lookedAt = await check.run(tell).catch((error: unknown) => {
      tell({ place: 'the store', reason: `it cannot be read: ${messageOfReading(error)}` })
      return 0
    })
    found.checks.push({ name: check.name, lookedAt, sound: faults === 0 })
  }
  return found
}

export const checkStore = async (store: Store, config: Config): Promise<VerifyReport> =>
  perform(await planOf(store, config))

/** The store cannot be opened. */
const unopened = (error: unknown): VerifyReport => ({
  checks: [],
  faults: [{ check: 'store', place: 'the store', reason: `it cannot be opened: ${messageOfReading(error)}` }],
  untold: 0,
  leftOut: [],
})

const look = async (config: Config): Promise<VerifyReport> => {
  try {
    await requireThisVersion(config)
    const { store, close } = await openStore(config, systemClock)
    try {
      return await checkStore(store, config)
    } finally {
      await close()
    }
  } catch (error) {
    if (error instanceof Refusal) throw error
    return unopened(error)
  }
}

const asJson = ({ checks, faults, untold, leftOut }: VerifyReport) => ({
  sound: faults.length === 0,
  checks: checks.map(({ name, lookedAt, sound }) => ({ name, looked_at: lookedAt, sound })),
  faults,
  faults_untold: untold,
  left_out: leftOut,
})

const sayAll = ({ checks, faults, untold, leftOut }: VerifyReport) => {
  for (const { check, place, reason } of faults) print(`${check}: ${place}: ${reason}`)
  if (untold > 0) print(`and ${formatCount(untold)} more`)
  for (const { name, lookedAt, sound } of checks)
    print(`${name}: ${formatCount(lookedAt)} checked, ${sound ? 'sound' : 'FAULTY'}`)
  for (const what of leftOut) print(`not checked: ${what}`)
}

export const verifyStore = async ({ json }: { json?: boolean }) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const found = await look(config)
  if (json) print(JSON.stringify(asJson(found)))
  else sayAll(found)
  return found.faults.length === 0 ? status.done : status.failed
}
