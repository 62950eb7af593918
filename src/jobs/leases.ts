import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Clock } from '../lib/clock.ts'
import { codeOf } from '../lib/error-facts.ts'
import { failure, isFailure, lostLease } from '../lib/failure.ts'
import { randomHex } from '../lib/ids.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import { type Birth, createLeaseRows, type Holder, type LeaseRow } from '../storage/leases.ts'
import type { Store } from '../storage/store.ts'

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

const processStatus = (pid: number | 'self'): Status | undefined => {
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
  const status = processStatus('self')
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
  const status = processStatus(pid)
  // /proc may hide processes of other users: they count as alive.
  if (!status) return false
  return status.state === 'Z' || status.state === 'X' || status.started !== started
}

const isBornBeside = (other: Birth) => other.boot === birth?.boot && other.namespace === birth.namespace

/** This process has the number now, so the holder ended before a restart. */
const isGoneFromHost = ({ host, pid }: Holder) =>
  !isLinux && host === thisProcess.host && (pid === thisProcess.pid || !hasNumber(pid))

/** Whether this process can see that the holder died: then the lease need not expire first. */
export const isDead = (holder: Holder) => {
  if (holder.process === thisProcess.process) return false
  return holder.birth
    ? isBornBeside(holder.birth) && hasEnded(holder.pid, holder.birth)
    : isGoneFromHost(holder)
}

export type Leases = ReturnType<typeof createLeases>

/** An exclusive right, until it is released or its process dies. */
export type Lease = NonNullable<Awaited<ReturnType<Leases['take']>>>

// Other machines consider a process dead after this time without renewal. Renewed three times within it.
const leaseMs = 15_000
const releaseAgainMs = 250

export const isLeaseLost = (error: unknown) => isFailure(error, lostLease)

export const leaseLost = (reason?: unknown) => failure(lostLease, {}, reason)

export const createLeases = (store: Store, clock: Clock, log: Log) => {
  const rows = createLeaseRows(store)
  const held = new Map<string, { lease: { release(): Promise<void> }; renew(): Promise<void> }>()

  const unreleased = new Map<string, NodeJS.Timeout>()

  /** After a failover the lease need not expire first. */
  const releaseLater = (name: string, token: string) => {
    const again = () =>
      rows.remove(name, token).then(
        () => unreleased.delete(token),
        () => unreleased.has(token) && releaseLater(name, token),
      )
    unreleased.set(token, setTimeout(again, releaseAgainMs).unref())
  }

  const isFree = ({ expiresAt, holder }: LeaseRow) => expiresAt < clock.now() || isDead(holder)

  const hold = (name: string, token: string) => {
    const loss = new AbortController()
    let renewedAt = clock.now()
    const guardStatement = () => rows.guard(name, token, leaseLost)

    const renew = async () => {
      try {
        const now = clock.now()
        await rows.renew(name, token, now + leaseMs, leaseLost)
        renewedAt = now
      } catch (error) {
        if (!isLeaseLost(error) && clock.now() - renewedAt < leaseMs) return
        log.write('warn', 'a lease was lost', { name, error: describeError(error) })
        // Another part of this process may hold it again.
        if (held.get(name)?.lease === lease) held.delete(name)
        loss.abort()
      }
    }

    const lease = {
      name,
      /** Aborted when another process holds the lease, or may hold it. */
      lost: loss.signal,
      guardStatement,
      /** Makes a change set fail with `lease_lost` unless the lease is held at the commit, independent of clocks. */
      guard(set: ChangeSet) {
        set.statements.push(guardStatement())
      },
      /** Fails while the store is unreachable; the release is then retried. */
      async release() {
        if (held.get(name)?.lease === lease) held.delete(name)
        if (loss.signal.aborted) return
        try {
          await rows.remove(name, token)
        } catch (error) {
          releaseLater(name, token)
          throw error
        }
      },
    }
    held.set(name, { lease, renew })
    return lease
  }

  const heartbeat = setInterval(() => {
    for (const { renew } of held.values()) void renew()
  }, leaseMs / 3)
  heartbeat.unref()

  return {
    /** Undefined if it is held. */
    async take(name: string) {
      const row = await rows.find(name)
      if (row && !isFree(row)) return undefined
      const token = randomHex(16)
      const next: LeaseRow = { token, holder: thisProcess, expiresAt: clock.now() + leaseMs }
      try {
        await rows.put(name, next, row, leaseLost)
        return hold(name, token)
      } catch (error) {
        if (isLeaseLost(error)) return undefined
        // The write may have succeeded.
        releaseLater(name, token)
        throw error
      }
    },
    /** Whether a live process holds it, as far as this one can see. */
    async isHeld(name: string) {
      const row = await rows.find(name)
      return row !== undefined && !isFree(row)
    },
    /** Releases all leases. */
    async stop() {
      clearInterval(heartbeat)
      // If the store is unreachable, the lease expires.
      await Promise.all([...held.values()].map(({ lease }) => lease.release().catch(() => undefined)))
      for (const timer of unreleased.values()) clearTimeout(timer)
      unreleased.clear()
    },
  }
}
