import type { Waiting } from '@crosspoint/client'
import { createSignal } from './signal.ts'

/** Why a request waits just now; undefined while none does. */
export const waiting = createSignal<Waiting['why'] | undefined>(undefined)

// A request that is repeated takes a moment to be answered, or to wait again.
const answerMilliseconds = 1_000

let timer: ReturnType<typeof setTimeout> | undefined

/** The client will repeat the request after this number of milliseconds. */
export const tellWaiting = ({ why, ms }: Waiting) => {
  clearTimeout(timer)
  waiting.set(why)
  timer = setTimeout(() => waiting.set(undefined), ms + answerMilliseconds)
}
