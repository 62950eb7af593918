// In whose turn passwords are checked.
import { expect, it } from 'vitest'
import { type Caller, createHashQueue, type Lane } from '../../src/auth/deriving/derivation-turns.ts'
import { networkOf } from '../../src/lib/network.ts'
import { createTestClock } from '../support/run/clock.ts'

const bounds = { mostOfEach: 64, most: 512 }

const caller = (network: string, accountId: string, lane: Lane = 'stranger'): Caller => ({
  network,
  accountId,
  lane,
})

const begin = () => {
  const turns = createHashQueue<string>(createTestClock())
  const add = (who: Caller, job: string, within = bounds) => turns.add(who, job, within)
  /** How many are served before this one, that one included. */
  const turnOf = (job: string) => {
    for (let turn = 1; turns.size > 0; turn += 1) if (turns.next() === job) return turn
    return undefined
  }
  return { turns, add, turnOf }
}

const each = (count: number, act: (index: number) => void) => {
  for (let index = 0; index < count; index += 1) act(index)
}

it('comes at once to a network that asks once, whatever another one asks for', () => {
  const { turns, add, turnOf } = begin()
  each(60, (index) => add(caller('flood', `account ${index}`), 'flood'))
  turns.next()
  add(caller('home', 'mine'), 'mine')
  expect(turnOf('mine')).toBeLessThanOrEqual(2)
})

it('comes at once to an account that asks once, whatever another one asks for from everywhere', () => {
  const { turns, add, turnOf } = begin()
  each(60, (index) => add(caller(`network ${index}`, 'theirs'), 'flood'))
  each(5, () => turns.next())
  add(caller('home', 'mine'), 'mine')
  expect(turnOf('mine')).toBeLessThanOrEqual(2)
})

it('comes to who was there before, however many strangers ask for the same account', () => {
  const { turns, add, turnOf } = begin()
  each(60, (index) => add(caller(`network ${index}`, 'mine'), 'flood'))
  each(7, () => turns.next())
  add(caller('home', 'mine', 'known'), 'mine')
  expect(turnOf('mine')).toBeLessThanOrEqual(2)
})

it('comes to strangers as well while known callers ask often', () => {
  const { turns, add, turnOf } = begin()
  each(60, () => add(caller('home', 'theirs', 'known'), 'known'))
  each(6, () => turns.next())
  add(caller('away', 'mine'), 'mine')
  expect(turnOf('mine')).toBeLessThanOrEqual(2)
})

it('comes to a tenant that asks once, whatever another one asks for from everywhere with its token', () => {
  const { turns, add, turnOf } = begin()
  each(60, (index) => add(caller(`network ${index}`, 'theirs', 'member'), 'flood'))
  each(5, () => turns.next())
  add(caller('home', 'mine', 'member'), 'mine')
  expect(turnOf('mine')).toBeLessThanOrEqual(2)
})

it('comes to the background, too, while others wait', () => {
  const { add, turnOf } = begin()
  each(60, (index) => add(caller(`network ${index}`, 'theirs'), 'flood'))
  add(caller('', 'theirs', 'background'), 'background')
  expect(turnOf('background')).toBeLessThanOrEqual(8)
})

it('is refused only to the network that asks too often', () => {
  const { turns, add } = begin()
  const refused: (string | undefined)[] = []
  each(64, () => refused.push(add(caller('flood', 'theirs'), 'flood')))
  expect(refused.every((job) => job === undefined)).toBe(true)
  expect(add(caller('flood', 'others'), 'too much')).toBe('too much')
  expect(turns.size).toBe(64)
  expect(add(caller('home', 'theirs'), 'mine')).toBe('flood')
  expect(add(caller('home', 'theirs', 'known'), 'mine too')).toBeUndefined()
})

it('is taken from the network that waits most when there is no room at all', () => {
  const { turns, add } = begin()
  const narrow = { mostOfEach: 64, most: 20 }
  each(15, () => add(caller('flood', 'theirs'), 'flood', narrow))
  each(5, (index) => add(caller(`network ${index}`, `account ${index}`), 'one', narrow))
  expect(add(caller('home', 'mine'), 'mine', narrow)).toBe('flood')
  expect(turns.size).toBe(20)
})

it('counts networks, not addresses', () => {
  expect([networkOf('203.0.113.7'), networkOf('203.0.113.250')]).toEqual(['203.0.113.0/24', '203.0.113.0/24'])
  expect(networkOf('2001:db8:1:2:3::4')).toBe('2001:db8:1:2::/64')
  expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.0/24')
  expect(networkOf('no_ip')).toBe('no_ip')
})
