import { createVerification, type Verification } from '../areas/events/audit/verification/operations.ts'
import { ConfigError } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { openStore } from './open-store.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)
const tell = (text: string) => process.stderr.write(`${text}\n`)

const counted = (count: number, what: string) =>
  `${count.toLocaleString('en-US')} ${count === 1 ? what.replace(/ies$/, 'y').replace(/s$/, '') : what}`

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

const sayResult = (result: Verification) => {
  for (const { accountId, entryId, sequence, reason } of result.faults)
    say(`account ${accountId}: entry ${entryId ?? `with sequence ${sequence}`} ${reason}`)
  const read = `${counted(result.entries, 'entries')} of ${counted(result.accounts, 'accounts')}`
  say(
    result.faults.length === 0
      ? `${read}: sound`
      : `${read}: ${counted(result.faults.length, 'accounts')} not sound`,
  )
}

const progressPauseMs = 10_000

/** A line now and then: how many entries there are is not known before. */
const createTeller = () => {
  let latest = performance.now()
  return ({ accounts, entries }: Readonly<Verification>) => {
    if (performance.now() - latest < progressPauseMs) return
    latest = performance.now()
    tell(`${counted(entries, 'entries')} of ${counted(accounts, 'accounts')} so far`)
  }
}

const verify = async (asJson: boolean) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const { store, close } = await openStore(config, systemClock)
  try {
    const result = await createVerification(store).all(createTeller())
    if (asJson) say(JSON.stringify(resultJson(result)))
    else sayResult(result)
    return result.faults.length === 0 ? 0 : 1
  } finally {
    await close()
  }
}

export const verifyAudit = async ({ json = false }: { json?: boolean }): Promise<number> => {
  try {
    return await verify(json)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    tell(`crosspoint: the settings are wrong:\n  ${error.mistakes.join('\n  ')}`)
    return 1
  }
}
