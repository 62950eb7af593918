import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern, maxPatternLength } from '../../src/lib/pattern.ts'

const matches = (pattern: string, text: string) => compilePattern(pattern).pattern?.matches(text)

describe('compilePattern', () => {
  it('finds the pattern anywhere unless it is anchored', () => {
    expect(matches('Yealink', 'Yealink SIP-T46')).toBe(true)
    expect(matches('^SIP', 'Yealink SIP-T46')).toBe(false)
    expect(matches('T4[26]$', 'Yealink SIP-T46')).toBe(true)
    expect(matches('yealink', 'Yealink')).toBe(false)
    expect(matches('(?i)yealink', 'Yealink')).toBe(true)
    expect(matches('', 'anything')).toBe(true)
  })

  it('answers the same twice', () => {
    const { pattern } = compilePattern('a+b')
    expect([1, 2, 3].map(() => pattern?.matches('xaab'))).toEqual([true, true, true])
  })

  it.each(['(', '[a', 'a{2,1}', '*', '(?=a)', '(?<!a)b', '(a)\\1', 'a{1001}', '\\'])('refuses %s', (text) => {
    expect(compilePattern(text)).toEqual({ problem: expect.stringMatching(/^cannot be read: ./) })
  })

  it('refuses what is too long or repeats too much', () => {
    expect(compilePattern('a'.repeat(maxPatternLength)).problem).toBeUndefined()
    expect(compilePattern('a'.repeat(maxPatternLength + 1)).problem).toBe('is longer than 256 characters')
    expect(compilePattern('(a|b){600}').problem).toBe('repeats too much')
    expect(compilePattern('\\pL{1000}'.repeat(28)).problem).toBe('repeats too much')
  })

  it('returns its first and its last group, or the whole match where it has none', () => {
    const groupsOf = (text: string, candidate: string) => {
      const { pattern } = compilePattern(text)
      return [pattern?.firstGroup(candidate), pattern?.lastGroup(candidate)]
    }
    expect(groupsOf('^(\\+?1)?(\\d{10})$', '14155550100')).toEqual(['1', '4155550100'])
    expect(groupsOf('^(\\+?1)?(\\d{10})$', '4155550100')).toEqual([undefined, '4155550100'])
    expect(groupsOf('\\d+', 'a12b')).toEqual([undefined, '12'])
    expect(groupsOf('\\d+', 'ab')).toEqual([undefined, undefined])
  })

  it('matches nothing beyond its bound', () => {
    expect(matches('a', 'a'.repeat(512))).toBe(true)
    expect(matches('a', 'a'.repeat(513))).toBe(false)
  })

  // A backtracking engine needs 2^500 steps for these: it would not end within the limit of a test.
  it.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(x+x+)+y', '^(.|a)*?'.concat('.*'.repeat(100), '!$')])(
    'ends with %s',
    (text) => {
      expect(matches(text, `${'a'.repeat(500)}!b`)).toBeTypeOf('boolean')
    },
  )

  it('never throws, and finds the literal text that it is made of', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        const compiled = compilePattern(text)
        expect(compiled.pattern === undefined).toBe(typeof compiled.problem === 'string')
        compiled.pattern?.matches(text)
      }),
    )
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 60 }), (needle, around) => {
        const literal = needle.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
        expect(matches(literal, `${around}${needle}${around}`)).toBe(true)
      }),
    )
  })
})
