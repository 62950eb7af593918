import { hostname } from 'node:os'
import { codeOf } from '../lib/error-facts.ts'
import { randomHex } from '../lib/ids.ts'
import type { Holder } from '../storage/leases.ts'

export const thisProcess: Holder = { host: hostname(), pid: process.pid, process: randomHex(8) }

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It exists and belongs to somebody else.
    return codeOf(error) === 'EPERM'
  }
}

/** On the holder's own machine nobody has to wait to know that it died. */
export const isDead = (holder: Holder) =>
  holder.host === thisProcess.host &&
  holder.process !== thisProcess.process &&
  // This process has its number now: it was there before a restart.
  (holder.pid === thisProcess.pid || !isAlive(holder.pid))
