// A directory for incomplete files, as private as the store.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { codeOf } from '../lib/error-facts.ts'

const beginning = 'staging-'
const ownBeginning = `${beginning}${hostname()}-`
const forgottenMilliseconds = 86_400_000

export const isStaging = (name: string) => name.startsWith(beginning)

const isAlive = (processId: number) => {
  try {
    return process.kill(processId, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

const isOfTheDead = (name: string) => {
  if (!name.startsWith(ownBeginning)) return false
  const processId = Number(/^\d+/.exec(name.slice(ownBeginning.length))?.[0])
  return Number.isInteger(processId) && !isAlive(processId)
}

const changedAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const namesIn = (folder: string) => {
  try {
    return readdirSync(folder)
  } catch (error) {
    // Another process may remove it.
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Not written for a day. */
const isForgotten = (folder: string) => {
  const paths = [folder, ...namesIn(folder).map((name) => join(folder, name))]
  return Math.max(...paths.map(changedAt)) < systemClock.now() - forgottenMilliseconds
}

/** Directories of killed processes of this machine, and old ones of other machines. */
const removeOrphans = (dataDir: string) => {
  for (const name of readdirSync(dataDir).filter(isStaging)) {
    const folder = join(dataDir, name)
    if (isOfTheDead(name) || isForgotten(folder)) rmSync(folder, { recursive: true, force: true })
  }
}

/** Also removed on a stop signal. */
export const withStaging = async <T>(dataDir: string, work: (folder: string) => Promise<T>): Promise<T> => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  removeOrphans(dataDir)
  const folder = mkdtempSync(join(dataDir, `${ownBeginning}${process.pid}-`))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  try {
    return await work(folder)
  } finally {
    remove()
    process.removeListener('exit', remove)
  }
}
