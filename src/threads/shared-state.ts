import { availableParallelism } from 'node:os'
import { bucketColumns } from '../http/throttle/token-buckets.ts'
import { countColumns } from '../http/transport/connection-limits.ts'
import { randomHex } from '../lib/ids.ts'
import { createSharedMemory, type SharedMemory } from '../lib/shared-rows.ts'

const maxByCores = 4

/** Half of the processors; one on other systems than Linux. */
export const threadsByCores = (cores = availableParallelism(), platform = process.platform): number =>
  platform === 'linux' ? Math.max(1, Math.min(maxByCores, Math.floor(cores / 2))) : 1

export interface SharedThreadState {
  threads: number
  buckets: SharedMemory
  places: SharedMemory
  /** The channel for known sign-in networks. */
  acquaintances: string
}

export interface FirstThread {
  /** The first thread is 1. */
  threadNumber: number
  wake(name: string): void
  metricsText(): Promise<string>
}

const buckets = 100_000
const addresses = 65_536

export const createSharedThreadState = (threads: number): SharedThreadState => ({
  threads,
  buckets: createSharedMemory(buckets, bucketColumns),
  places: createSharedMemory(addresses, countColumns),
  acquaintances: `acquaintances ${randomHex(8)}`,
})
