// Commands on the store of this machine, with or without a running server.
import { printable } from '../../cli/terminal.ts'
import type { AreaDeps } from '../../src/areas/area.ts'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { createPasswordHasher, nicenessOfMany } from '../../src/auth/deriving/deriver.ts'
import { createKeyring, readServerKey } from '../../src/auth/keyring.ts'
import { bareAreas } from '../../src/commands/bare-areas.ts'
import { createCommandLog } from '../../src/commands/command-log.ts'
import { openStore } from '../../src/commands/open-store.ts'
import { printError } from '../../src/commands/output.ts'
import { printingRefusals } from '../../src/commands/refusals.ts'
import { status } from '../../src/commands/statuses.ts'
import { checkAccounts, checkNames } from '../../src/commands/verification/accounts.sql.ts'
import { checkLedgers } from '../../src/commands/verification/ledgers.sql.ts'
import type { Config } from '../../src/config/config.ts'
import { configFromEnvironment } from '../../src/config/env.ts'
import { validateLeniently } from '../../src/http/request/validate-data.ts'
import { createLeases } from '../../src/jobs/leases.ts'
import type { Fault } from '../../src/lib/check.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { createMail } from '../../src/mail/mail.ts'
import { createNotices } from '../../src/mail/notices.ts'
import { openObjectStore } from '../../src/object-store/open.ts'
import { createSettings } from '../../src/settings/settings.ts'
import { Refusal } from '../../src/storage/saved-store.ts'
import type { Store } from '../../src/storage/store.ts'
import { kazooArea } from '../area.ts'
import type { ComparedWithDatabase } from '../comparing/operations.ts'
import { exportReportJson, exportReportText, openExportFolder } from '../export/folder.ts'
import type { ImportRunOptions } from '../import-run/import-scope.ts'
import type { Report } from '../report/report.ts'
import { formatCount, needsPerson, reportJson, reportText } from '../report/report.ts'
import { openSource } from '../source/open.ts'
import type { Source } from '../source/source.ts'
import {
  createProgressPrinter,
  differenceLines,
  questionLines,
  sumOfQuestions,
  waitsForPerson,
} from './output.ts'
import { createResponses } from './read-responses.ts'

interface ImportOptions {
  accounts?: string[]
  survey?: boolean
  follow?: boolean
  finish?: boolean
  undo?: boolean
  sinceMonth?: number
  withoutCdrs?: boolean
  systemNotices?: boolean
  allowMissing?: boolean
  acceptDifferences?: boolean
  json?: boolean
}

const aliveMs = 60_000

/** Prints each pass with changes, and once a minute that there were none. */
const createRoundPrinter = () => {
  let printed = Number.NEGATIVE_INFINITY
  return {
    onRound(changed: number, seconds: number) {
      const now = performance.now()
      if (changed === 0 && now - printed < aliveMs) return
      printed = now
      printError(`${formatCount(changed)} changes imported in ${seconds.toFixed(1)} s; press Ctrl-C to stop`)
    },
    onTrouble: (why: string) => printError(`${why}; retrying; press Ctrl-C to stop`),
  }
}

// Further differences of a check are most likely the same again.
const differencesShown = 100

const createDifferencePrinter = () => {
  const counts = new Map<string, number>()
  return (check: string, { place, reason }: Fault) => {
    const before = counts.get(check) ?? 0
    counts.set(check, before + 1)
    if (before < differencesShown) printError(printable(`${check}: ${place}: ${reason}`))
    else if (before === differencesShown) printError(`${check}: more differences are only counted`)
  }
}

const openImporter = (store: Store, config: Config, serverKey: Buffer) => {
  const declared = declarationsOf(areas)
  const keyring = createKeyring(serverKey)
  const settings = createSettings(store.records, 'command')
  const log = createCommandLog(config, 'warn')
  const metrics = createMetrics()
  const leases = createLeases(store, systemClock, log)
  const deriver = createPasswordHasher({ settings, clock: systemClock, metrics, niceness: nicenessOfMany })
  const tools: Partial<AreaDeps> = {
    ...{ store, settings, keyring, deriver, log, metrics, leases },
    // Nothing is sent: the mail settings are only read.
    mail: createMail({ store, keyring, notices: createNotices(declared.notices) }),
    callArchive: openObjectStore(config.callArchive),
    validate: validateLeniently,
  }
  const { offers, routes } = bareAreas(tools, kazooArea)
  const { kazoo, reconciliation } = offers
  return {
    parts: {
      ...kazoo,
      checks: [checkAccounts(store, reconciliation.differences), checkNames(store), checkLedgers(store)],
      respond: createResponses(routes, store),
    },
    async stop() {
      await leases.stop()
      await deriver.stop()
    },
  }
}

const withImporter = async <T>(
  work: (parts: ReturnType<typeof openImporter>['parts']) => Promise<T>,
): Promise<T> => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const serverKey = readServerKey(config.dataDir)
  if (!serverKey) throw new Refusal('there is no store yet: start the server once')
  const { store, close } = await openStore(config, systemClock)
  const { parts, stop } = openImporter(store, config, serverKey)
  const alive = setInterval(() => undefined, aliveMs)
  try {
    return await work(parts)
  } finally {
    clearInterval(alive)
    await stop()
    await close()
  }
}

/** The first Ctrl-C ends the current step. */
const untilInterrupted = () => {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopping.abort())
  return stopping.signal
}

const printReport = (report: Report, { json, survey }: ImportOptions) => {
  const how = { isPlan: survey === true }
  process.stdout.write(json ? `${JSON.stringify(reportJson(report, how))}\n` : reportText(report, how))
  return needsPerson(report) ? waitsForPerson : status.done
}

const runOptionsOf = ({ sinceMonth, allowMissing, ...options }: ImportOptions): ImportRunOptions => ({
  ...{ sinceMonth, allowMissing, only: options.accounts },
  withoutCalls: options.withoutCdrs,
  withSystemNotices: options.systemNotices,
  onBatch: createProgressPrinter(),
})

const perform = (source: Source, options: ImportOptions) =>
  withImporter(async ({ imports, checks, respond }) => {
    const manner = runOptionsOf(options)
    if (options.survey) return printReport(await imports.survey(source, manner), options)
    if (options.follow) {
      await imports.follow(source, untilInterrupted(), { ...manner, ...createRoundPrinter() })
    } else if (options.finish)
      await imports.finish(source, {
        ...manner,
        checks,
        respond,
        acceptsDifferences: options.acceptDifferences === true,
        onDifference: createDifferencePrinter(),
      })
    else await imports.copy(source, manner)
    return printReport(await imports.report(source), options)
  })

const undo = () =>
  withImporter(async ({ imports }) => {
    await imports.undo()
    printError('the store is back in its state before the import')
    return status.done
  })

const withSource = async <T>(named: string, work: (source: Source) => Promise<T>): Promise<T> => {
  const source = await openSource(named)
  try {
    return await work(source)
  } finally {
    await source.close()
  }
}

export const importKazoo = (named: string | undefined, options: ImportOptions): Promise<number> =>
  printingRefusals(async () => {
    if (options.undo) return undo()
    if (named === undefined) throw new Refusal('a source is missing')
    return withSource(named, (source) => perform(source, options))
  })

export const exportKazoo = (directory: string, { json = false }: { json?: boolean }): Promise<number> =>
  printingRefusals(() =>
    withImporter(async ({ leave }) => {
      const folder = await openExportFolder(directory)
      const report = await leave(folder, createProgressPrinter())
      process.stdout.write(
        json
          ? `${JSON.stringify(exportReportJson(directory, report))}\n`
          : exportReportText(directory, report),
      )
      return status.done
    }),
  )

const accountsPerStatus = 100

/** A report that an operator can sign. */
const textOf = (compared: ComparedWithDatabase) => {
  const { source, accounts, of_accounts: ofAll, sums } = compared
  const [asked, different] = [sumOfQuestions(compared, 'asked'), sumOfQuestions(compared, 'different')]
  const sumLines = sums.map(({ name, there, here }) => {
    const [one, other] = [there, here].map((sum) => formatCount(sum).padStart(20))
    return `${name.padEnd(24)} ${one} ${other} ${there === here ? 'the same' : formatCount(here - there)}`
  })
  return [
    `${source}, compared with the store of this machine at ${new Date(systemClock.now()).toISOString()}`,
    '',
    ...differenceLines(compared),
    ...(different > 0 ? [''] : []),
    'Compared, one by one:',
    ...questionLines(compared),
    '',
    `${'Counts and sums'.padEnd(24)} ${'there'.padStart(20)} ${'here'.padStart(20)}`,
    ...sumLines,
    '',
    `${accounts} of ${ofAll} accounts, ${formatCount(asked)} answers, ${formatCount(different)} different.`,
    '',
    'Accepted by: ____________________  on: ______________',
  ].join('\n')
}

/** `sample`: number of accounts below the master account. */
export const compareWithDatabase = (
  named: string,
  { sample, seed, json }: { sample: number; seed: string; json?: boolean },
): Promise<number> =>
  printingRefusals(() =>
    withSource(named, async (source) => {
      const onAccount = (done: number, all: number) => {
        if (done % accountsPerStatus === 0) printError(`${formatCount(done)} of ${formatCount(all)} accounts`)
      }
      const compared = await withImporter(({ compare, respond }) =>
        compare(source, { sample, seed, respond, onAccount }),
      )
      process.stdout.write(json ? `${JSON.stringify(compared)}\n` : `${textOf(compared)}\n`)
      return sumOfQuestions(compared, 'different') === 0 ? status.done : waitsForPerson
    }),
  )
