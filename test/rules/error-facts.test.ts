import { describe, expect, it } from 'vitest'
import { messageOf } from '../../src/lib/error-facts.ts'

describe('what an error says', () => {
  it.each([
    [new Error('no room'), 'no room'],
    // The error of a name with two addresses when no server listens at either.
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new AggregateError([]), 'AggregateError'],
    ['thrown', 'thrown'],
  ])('of %o is %s', (error, text) => {
    expect(messageOf(error)).toBe(text)
  })
})
