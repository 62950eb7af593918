// Callers whose requests have a price.
import type { Answer } from './client.ts'
import { useWorld } from './world.ts'

export const tooMany = [429, 'too_many_requests', { message: 'too many requests' }] as const

/** An address that no other test uses. This machine is a trusted proxy, so the header is trusted. */
export const addresses = () => {
  let last = 0
  return () => {
    last += 1
    return { 'x-forwarded-for': `203.0.113.${last}` }
  }
}

export const useThrottledWorld = (engine: Parameters<typeof useWorld>[0]) =>
  useWorld(engine, (world) => world.configure('crossbar', { token_costs: 1 }))

/** How many of these requests pass before one is refused. */
export const passing = async (request: () => Promise<Answer>, most = 130) => {
  for (let passed = 0; passed < most; passed += 1) {
    const answer = await request()
    if (answer.status === 429) return passed
  }
  return most
}
