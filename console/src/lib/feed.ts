import { useEffect, useRef } from 'react'
import { forget, readAgain } from './answers.ts'
import { crosspoint } from './api.ts'
import { createSignal } from './signal.ts'

/** Whether changes arrive as live events or by polling. */
export const liveness = createSignal<'live' | 'waiting' | 'off'>('off')

type Follower = (event: { type: string; record: { kind: string; id: string } }) => void

const followers = new Set<Follower>()

// Events that come together are answered by one reading.
const gatherMilliseconds = 150

const createGathering = () => {
  const kinds = new Set<string>()
  const readTold = () => {
    const told = [...kinds]
    kinds.clear()
    void forget(...told)
  }
  return (kind: string) => {
    if (kinds.size === 0) setTimeout(readTold, gatherMilliseconds)
    kinds.add(kind)
  }
}

/**
 * Follows the events of an account while a screen of it is open: what was read of the kinds that change is read again.
 * Call records are not followed: there may be thousands a second.
 */
export const useAccountFeed = (accountId: string) => {
  useEffect(() => {
    const ending = new AbortController()
    const gather = createGathering()
    const follow = async () => {
      const events = crosspoint.follow({
        accountId,
        after: 'now',
        signal: ending.signal,
        onState: (state) => {
          liveness.set(state === 'live' ? 'live' : 'waiting')
          // A new stream starts with future events, so earlier reads may be out of date. A resumed stream
          // delivers missed record events, but not calls, registrations and statistics.
          if (state === 'live') void readAgain()
        },
      })
      for await (const event of events) {
        gather(event.record.kind)
        for (const follower of followers) follower(event)
      }
    }
    // Without the stream everything still works: what is shown is asked again now and then.
    follow().catch(() => liveness.set('off'))
    return () => {
      ending.abort()
      liveness.set('off')
    }
  }, [accountId])
}

/** Hears each event of the account that is open, while the screen that asks is. */
export const useEvents = (hear: Follower) => {
  const latest = useRef(hear)
  latest.current = hear
  useEffect(() => {
    const follower: Follower = (event) => latest.current(event)
    followers.add(follower)
    return () => void followers.delete(follower)
  }, [])
}

/** How often to ask for what events would tell: not at all while they do. */
export const useAskingPeriod = (milliseconds: number) => (liveness.use() === 'live' ? false : milliseconds)
