import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../lib/error-facts.ts'
import { randomHex } from '../lib/ids.ts'
import type { Birth, Holder } from '../storage/leases.ts'

// Host names and process numbers are no names of processes: containers on the host's network share the one and count
// the other anew, and a number is used again. Linux says more: which boot, which PID namespace, when it was started.

const isLinux = process.platform === 'linux'

interface Status {
  pid: number
  /** One letter: Z is a process that has ended and that nobody has asked about yet. */
  state: string | undefined
  /** Ticks between the boot and the start. */
  started: string | undefined
}

/** What the kernel tells of a process; undefined when it does not. */
const statusOf = (pid: number | 'self'): Status | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name stands in brackets and may hold anything, brackets too.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid: Number.parseInt(text, 10), state: fields[0], started: fields[19] }
  } catch {
    return undefined
  }
}

const readBirth = (): Birth | undefined => {
  const status = statusOf('self')
  // Another number: /proc is that of another namespace, and tells of others.
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
    // It exists and belongs to somebody else.
    return codeOf(error) === 'EPERM'
  }
}

const hasEnded = (pid: number, { started }: Birth) => {
  if (!hasNumber(pid)) return true
  const status = statusOf(pid)
  // Of processes of others the kernel may tell nothing: they live.
  if (!status) return false
  return status.state === 'Z' || status.state === 'X' || status.started !== started
}

const isBornBeside = (other: Birth) => other.boot === birth?.boot && other.namespace === birth.namespace

/** Without more than a number: this process has it now, so whoever had it was there before a restart. */
const isGoneFromHost = ({ host, pid }: Holder) =>
  !isLinux && host === thisProcess.host && (pid === thisProcess.pid || !hasNumber(pid))

/** Where this process can see the holder, nobody has to wait to know that it died. */
export const isDead = (holder: Holder) => {
  if (holder.process === thisProcess.process) return false
  return holder.birth
    ? isBornBeside(holder.birth) && hasEnded(holder.pid, holder.birth)
    : isGoneFromHost(holder)
}
