import { availableParallelism } from 'node:os'
import { bucketColumns } from '../http/throttle/token-buckets.ts'
import { countColumns } from '../http/wire/places.ts'
import { randomHex } from '../lib/ids.ts'
import { createSharedMemory, type SharedMemory } from '../lib/shared-rows.ts'

const maxByCores = 4

/** Half of the processors: the others write, derive keys, read for long and make files. Elsewhere than on Linux, one. */
export const threadsByCores = (cores = availableParallelism(), platform = process.platform): number =>
  platform === 'linux' ? Math.max(1, Math.min(maxByCores, Math.floor(cores / 2))) : 1

/** What the threads of a process have together, where several answer requests. */
export interface SharedThreadState {
  /** How many they are. */
  threads: number
  /** Buckets of throttling. */
  buckets: SharedMemory
  /** Connections of each address. */
  places: SharedMemory
  /** The channel on which they tell each other who has signed in from where. */
  acquaintances: string
}

/** What a further thread asks of the first one. */
export interface FirstThread {
  /** Of whoever asks; the first one is 1. */
  threadNumber: number
  /** Has a round done soon. */
  nudge(round: string): void
  /** What all threads tell at `/metrics`. */
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
