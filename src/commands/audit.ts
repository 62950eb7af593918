import { onStore } from './open-store.ts'
import { formatCount, print, printError } from './output.ts'
import { status } from './statuses.ts'
import { createVerification, type Verification } from './verification/audit.sql.ts'

const counted = (count: number, one: string, many: string) =>
  `${formatCount(count)} ${count === 1 ? one : many}`

const readSoFar = ({ entries, accounts }: Readonly<Verification>) =>
  `${counted(entries, 'entry', 'entries')} of ${counted(accounts, 'account', 'accounts')}`

const resultJson = ({ accounts, entries, faults }: Verification) => ({
  sound: faults.length === 0,
  accounts,
  entries,
  faults: faults.map(({ accountId, entryId = null, sequence, reason }) => ({
    account_id: accountId,
    entry_id: entryId,
    sequence,
    reason,
  })),
})

const printResult = (result: Verification) => {
  const { faults } = result
  for (const { accountId, entryId, sequence, reason } of faults)
    print(`account ${accountId}: entry ${entryId ?? `with sequence ${sequence}`} ${reason}`)
  const verdict = faults.length === 0 ? 'sound' : `${counted(faults.length, 'account', 'accounts')} faulty`
  print(`${readSoFar(result)}: ${verdict}`)
}

const progressPauseMs = 10_000

/** Verifies the audit log. The number of entries is not known before, so progress is a line every ten seconds. */
export const verifyAudit = ({ json }: { json?: boolean }): Promise<number> =>
  onStore(async ({ store }) => {
    let latest = performance.now()
    const result = await createVerification(store).all((sofar) => {
      if (performance.now() - latest < progressPauseMs) return
      latest = performance.now()
      printError(`${readSoFar(sofar)} so far`)
    })
    if (json) print(JSON.stringify(resultJson(result)))
    else printResult(result)
    return result.faults.length === 0 ? status.done : status.failed
  })
