// A folder of the data directory for what is not whole yet: there it is no better readable than the store is.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { codeOf } from '../lib/error-facts.ts'

const beginning = 'staging-'
const ownBeginning = `${beginning}${hostname()}-`
const forgottenMilliseconds = 86_400_000

/** Whether a path in a data directory is of this kind. */
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
    // Another process tidies up, too.
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Nothing in it was written for so long that nobody can be at work on it. */
const isForgotten = (folder: string) => {
  const paths = [folder, ...namesIn(folder).map((name) => join(folder, name))]
  return Math.max(...paths.map(changedAt)) < systemClock.now() - forgottenMilliseconds
}

/** What processes left that were killed: those of this machine, and of machines whose name comes never again. */
const removeOrphans = (dataDir: string) => {
  for (const name of readdirSync(dataDir).filter(isStaging)) {
    const folder = join(dataDir, name)
    if (isOfTheDead(name) || isForgotten(folder)) rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs with a new folder, which is gone afterwards: also when the process is asked to end. */
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
