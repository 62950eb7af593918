// How long the server repeats deliveries, and how it writes payloads.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formOf,
  nextTry,
  pauseAfter,
  triesLeft,
  verdictOf,
} from '../../src/areas/events/webhooks/deliveries/payload.ts'
import { wants } from '../../src/areas/events/webhooks/rules.ts'
import type { Webhook } from '../../src/areas/events/webhooks/schema.ts'
import { signatureOf } from '../../src/lib/signature.ts'

const day = 24 * 3_600_000

describe('a delivery that fails', () => {
  it('is repeated first after at most five seconds, then after growing pauses', () => {
    const pauses = Array.from({ length: 100 }, (_, index) => pauseAfter(index + 1))
    expect(pauses[0]).toBeLessThanOrEqual(5000)
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
    expect(pauses.at(-1)).toBe(3_600_000)
  })

  it('is repeated for three days, and the number of tries is known in advance', () => {
    let now = 0
    let attempts = 1
    const told = triesLeft({ attempts, since: 0, now })
    for (let dueAt = nextTry({ attempts, since: 0, now }); dueAt !== undefined; ) {
      now = dueAt
      attempts += 1
      dueAt = nextTry({ attempts, since: 0, now })
    }
    expect(attempts - 1).toBe(told)
    expect(now).toBeGreaterThan(3 * day - 3_600_000)
    expect(now).toBeLessThanOrEqual(3 * day)
  })

  it.each([
    [200, 'success'],
    [201, 'success'],
    [299, 'success'],
    [300, 'failed'],
    [302, 'failed'],
    [400, 'failed'],
    [404, 'failed'],
    [408, 'again'],
    [410, 'failed'],
    [429, 'again'],
    [500, 'again'],
    [599, 'again'],
  ])('with status %i is %s', (status, verdict) => {
    expect(verdictOf(status)).toBe(verdict)
  })
})

describe('a form', () => {
  it('returns what was written into it, and contains nothing that a URL would encode again', () => {
    const text = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), text), (payload) => {
        const form = formOf(payload)
        expect(Object.fromEntries(new URLSearchParams(form))).toEqual(payload)
        expect(new URL(`https://receiver.example.com/?${form}`).search.slice(1)).toBe(form)
      }),
    )
  })

  it('names the keys of inner objects in brackets, and lists without numbers', () => {
    expect(decodeURIComponent(formOf({ a: { b: { c: 1 } }, list: [true, null] }))).toBe(
      'a[b][c]=1&list[]=true&list[]=',
    )
  })
})

describe('a signature', () => {
  it('has a proof for each key', () => {
    const [at, first, second] = signatureOf('body', ['new', 'old'], 17).split(',')
    expect(at).toBe('t=17')
    expect(`t=17,${first}`).toBe(signatureOf('body', ['new'], 17))
    expect(`t=17,${second}`).toBe(signatureOf('body', ['old'], 17))
  })
})

describe('a hook', () => {
  const hook = (name: string, custom_data: Record<string, string> = {}): Webhook => ({
    name: 'A hook',
    uri: 'https://receiver.example.com/',
    hook: name,
    custom_data,
  })
  const edited = { type: 'user.edited', kind: 'user', action: 'edited' } as const
  const arrived = { type: 'cdr.created', kind: 'cdr', action: undefined }
  const raised = { type: 'alert.raised', kind: 'alert', action: undefined }

  it.each([
    ['all', {}, edited, true],
    ['all', {}, raised, true],
    ['all', {}, arrived, false],
    ['cdr', {}, arrived, true],
    ['cdr', {}, edited, false],
    ['cdr.created', {}, arrived, true],
    ['cdr.*', {}, arrived, true],
    ['user.edited', {}, edited, true],
    ['user.*', {}, edited, true],
    ['user.created', {}, edited, false],
    ['object', { type: 'user', action: 'doc_edited' }, edited, true],
    ['object', { type: 'all', action: 'all' }, edited, true],
    ['object', { type: 'user', action: 'doc_created' }, edited, false],
    ['object', { type: 'device', action: 'all' }, edited, false],
    ['object', { type: 'all', action: 'all' }, raised, false],
    ['notifications', { type: 'alert' }, raised, true],
    ['notifications', { type: 'low_balance' }, raised, false],
    ['channel_create', {}, edited, false],
  ])('%s with %j and an event of %j', (name, data, event, isWanted) => {
    expect(wants(hook(name, data), event)).toBe(isWanted)
  })
})
