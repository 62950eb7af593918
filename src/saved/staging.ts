// A folder of the data directory for what is not whole yet: there it is no better readable than the store is.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../lib/error-facts.ts'

const beginning = 'staging-'
const ownBeginning = `${beginning}${hostname()}-`

/** Whether a path in a data directory is of this kind. */
export const isStaging = (name: string) => name.startsWith(beginning)

const isAlive = (processId: number) => {
  try {
    return process.kill(processId, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** What processes of this machine left that were killed. */
const removeOrphans = (dataDir: string) => {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(ownBeginning)) continue
    const processId = Number(/^\d+/.exec(name.slice(ownBeginning.length))?.[0])
    if (!Number.isInteger(processId) || isAlive(processId)) continue
    rmSync(join(dataDir, name), { recursive: true, force: true })
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
