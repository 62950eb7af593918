import { readFileSync } from 'node:fs'
import { configFromEnvironment, environmentOfPrograms } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { makeBackup } from '../saved/backup.ts'
import type { Manifest } from '../saved/manifest.ts'
import { restoreBackup } from '../saved/restore.ts'
import { Refusal } from '../storage/saved-store.ts'
import { formatCount, print, printError } from './output.ts'
import { tidyWhenInterrupted } from './refusals.ts'

const rowsOf = ({ counts }: Manifest) => Object.values(counts).reduce((sum, count) => sum + count, 0)

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`

const backupSummary = (manifest: Manifest) =>
  `${formatCount(rowsOf(manifest))} rows of ${Object.keys(manifest.counts).length} tables, as of ${manifest.as_of}`

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

export const backUp = async (file: string, { recipient: recipients = [], json }: BackupOptions) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  tidyWhenInterrupted()
  if (file === '-' && process.stdout.isTTY)
    throw new Refusal('refusing to write a backup to a terminal: name a FILE or redirect the output')
  const surroundings = { config, clock: systemClock, environment: environmentOfPrograms() }
  const { manifest, bytes } = await makeBackup(surroundings, { file, recipients })
  const result = { file, bytes, encrypted: recipients.length > 0, ...factsOf(manifest) }
  const text = json ? JSON.stringify(result) : `${file}: ${megabytes(bytes)}, ${backupSummary(manifest)}`
  if (file === '-') printError(text)
  else print(text)
}

interface RestoreOptions {
  identity?: string
  json?: boolean
}

export const restore = async (file: string, { identity, json }: RestoreOptions) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  tidyWhenInterrupted()
  const identities = identity === undefined ? undefined : readFileSync(identity, 'utf8')
  const surroundings = { config, environment: environmentOfPrograms() }
  const manifest = await restoreBackup(surroundings, { file, identities })
  print(json ? JSON.stringify(factsOf(manifest)) : `restored: ${backupSummary(manifest)}`)
}
