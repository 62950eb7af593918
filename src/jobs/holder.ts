import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../lib/error-facts.ts'
import { randomHex } from '../lib/ids.ts'
import type { Birth, Holder } from '../storage/leases.ts'

// Process ids are not unique: containers on one host share its name, and ids are reused. On Linux the boot, the PID
// namespace and the start time are compared as well.

const isLinux = process.platform === 'linux'

interface Status {
  pid: number
  /** Z is a process that has ended and was not reaped. */
  state: string | undefined
  /** Ticks since boot. */
  started: string | undefined
}

const statusOf = (pid: number | 'self'): Status | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name is in brackets and may contain brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid: Number.parseInt(text, 10), state: fields[0], started: fields[19] }
  } catch {
    return undefined
  }
}

const readBirth = (): Birth | undefined => {
  const status = statusOf('self')
  // /proc belongs to another namespace.
  if (status?.pid !== process.pid || status.started === undefined) return undefined
  try {
    return {
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
      namespace: readlinkSync('/proc/self/ns/pid'),
      started: status.started,
    }
  } catch {
    return undefined
  }
}

const birth = isLinux ? readBirth() : undefined

export const thisProcess: Holder = {
  host: hostname(),
  pid: process.pid,
  process: randomHex(8),
  ...(birth ? { birth } : {}),
}

const hasNumber = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists and belongs to another user.
    return codeOf(error) === 'EPERM'
  }
}

const hasEnded = (pid: number, { started }: Birth) => {
  if (!hasNumber(pid)) return true
  const status = statusOf(pid)
  // /proc may hide processes of other users: they count as alive.
  if (!status) return false
  return status.state === 'Z' || status.state === 'X' || status.started !== started
}

const isBornBeside = (other: Birth) => other.boot === birth?.boot && other.namespace === birth.namespace

/** This process has the number now, so the holder ended before a restart. */
const isGoneFromHost = ({ host, pid }: Holder) =>
  !isLinux && host === thisProcess.host && (pid === thisProcess.pid || !hasNumber(pid))

/** Whether this process can see that the holder died: then nobody waits for the lease to expire. */
export const isDead = (holder: Holder) => {
  if (holder.process === thisProcess.process) return false
  return holder.birth
    ? isBornBeside(holder.birth) && hasEnded(holder.pid, holder.birth)
    : isGoneFromHost(holder)
}
