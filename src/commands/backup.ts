import { readFileSync } from 'node:fs'
import { configFromEnvironment, environmentOfPrograms } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { makeBackup } from '../saved/backup.ts'
import type { Manifest } from '../saved/manifest.ts'
import { restoreBackup } from '../saved/restore.ts'
import { Refusal } from '../storage/saved-store.ts'
import { printingRefusals, tidyWhenInterrupted } from './refusals.ts'
import { status } from './statuses.ts'

const rowsOf = ({ counts }: Manifest) => Object.values(counts).reduce((sum, count) => sum + count, 0)

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`

const told = (manifest: Manifest) =>
  `${rowsOf(manifest).toLocaleString('en-US')} rows of ${Object.keys(manifest.counts).length} tables, as of ${manifest.as_of}`

const factsOf = ({ crosspoint, engine, upgrade, as_of, counts }: Manifest) => ({
  crosspoint,
  engine,
  upgrade,
  as_of,
  counts,
})

interface BackupOptions {
  recipient?: string[]
  json?: boolean
}

/** Makes a backup; answers with the status. */
export const backUp = (file: string, { recipient: recipients = [], json }: BackupOptions): Promise<number> =>
  printingRefusals(async () => {
    const config = configFromEnvironment()
    process.umask(0o077)
    tidyWhenInterrupted()
    if (file === '-' && process.stdout.isTTY)
      throw new Refusal('a backup is nothing to be read on a terminal')
    const surroundings = { config, clock: systemClock, environment: environmentOfPrograms() }
    const { manifest, bytes } = await makeBackup(surroundings, { file, recipients })
    const result = { file, bytes, encrypted: recipients.length > 0, ...factsOf(manifest) }
    const text = json ? JSON.stringify(result) : `${file}: ${megabytes(bytes)}, ${told(manifest)}`
    const output = file === '-' ? process.stderr : process.stdout
    output.write(`${text}\n`)
    return status.done
  })

interface RestoreOptions {
  identity?: string
  json?: boolean
}

/** Puts a backup into an empty place; answers with the status. */
export const restore = (file: string, { identity, json }: RestoreOptions): Promise<number> =>
  printingRefusals(async () => {
    const config = configFromEnvironment()
    process.umask(0o077)
    tidyWhenInterrupted()
    const identities = identity === undefined ? undefined : readFileSync(identity, 'utf8')
    const surroundings = { config, environment: environmentOfPrograms() }
    const manifest = await restoreBackup(surroundings, { file, identities })
    process.stdout.write(json ? `${JSON.stringify(factsOf(manifest))}\n` : `restored: ${told(manifest)}\n`)
    return status.done
  })
