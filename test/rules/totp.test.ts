import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  base32Encode,
  hotp,
  matchTotp,
  otpauthUrl,
  totpStep,
} from '../../src/areas/accounts/multi-factor/rules.ts'
import { base32Decode } from '../support/run/base32.ts'

const key = Buffer.from('12345678901234567890')

it('hotp gives the codes of RFC 4226 appendix D', () => {
  const codes = [
    '755224',
    '287082',
    '359152',
    '969429',
    '338314',
    '254676',
    '287922',
    '162583',
    '399871',
    '520489',
  ]
  expect(codes.map((_, counter) => hotp(key, counter))).toEqual(codes)
})

describe('matchTotp', () => {
  // RFC 6238 appendix B lists eight digits; six-digit codes are their last six.
  it.each([
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ])('accepts at %i what RFC 6238 appendix B lists', (time, code) => {
    expect(matchTotp(key, code.slice(2), time)).toBe(Math.floor(time / 30))
  })

  it('returns the step of a code for the step before, now and after, and no other', () => {
    fc.assert(
      fc.property(fc.integer({ min: 120, max: 4e9 }), fc.integer({ min: -3, max: 3 }), (time, distance) => {
        const step = totpStep(time) + distance
        const near = [-1, 0, 1].map((each) => totpStep(time) + each)
        const code = hotp(key, step)
        const matched = matchTotp(key, code, time)
        if (Math.abs(distance) <= 1) expect(hotp(key, matched as number)).toBe(code)
        else expect(matched !== undefined).toBe(near.some((each) => hotp(key, each) === code))
      }),
    )
  })

  it.each(['', '75522', '7552244', ' 755224', '75522a', '７５５２２４', '-75522'])(
    'refuses %j as a code',
    (code) => {
      expect(matchTotp(key, code, 0)).toBeUndefined()
    },
  )

  it('works at the beginning of time', () => expect(matchTotp(key, '755224', 0)).toBe(0))
})

describe('base32', () => {
  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('of %j is %s, as RFC 4648 lists without padding', (text, expected) => {
    expect(base32Encode(Buffer.from(text))).toBe(expected)
  })

  it('reads back what it wrote, padded, spaced or in lower case', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = base32Encode(bytes)
        expect(base32Decode(text)).toEqual(bytes)
        expect(base32Decode(text.toLowerCase().replace(/(.{4})/g, '$1 '))).toEqual(bytes)
        expect(base32Decode(text.padEnd(Math.ceil(text.length / 8) * 8, '='))).toEqual(bytes)
      }),
    )
  })

  it.each(['0', '1', '8', 'MZ=XW', 'Ä', 'MZXW-6'])('refuses %j', (text) =>
    expect(base32Decode(text)).toBeUndefined(),
  )
})

it('otpauthUrl is read by any URL parser', () => {
  const url = new URL(otpauthUrl({ key, issuer: 'Cross & Point', label: 'ada:b@x.example' }))
  expect(url.protocol).toBe('otpauth:')
  expect(url.host).toBe('totp')
  expect(decodeURIComponent(url.pathname)).toBe('/Cross & Point:ada:b@x.example')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    issuer: 'Cross & Point',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
