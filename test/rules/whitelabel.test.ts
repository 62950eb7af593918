import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expand, holdsKey, matches } from '../../src/areas/brand/whitelabel/domains/rules.ts'
import { codeFrom, secondsToWait } from '../../src/areas/brand/whitelabel/emails/rules.ts'
import { nameToKeep } from '../../src/areas/brand/whitelabel/files/rules.ts'
import { whitelabelProblems } from '../../src/areas/brand/whitelabel/rules.ts'
import { hostNameOf } from '../../src/lib/host-name.ts'

describe('a host', () => {
  it.each([
    ['Portal.Acme.test', 'portal.acme.test'],
    ['portal.acme.test.', 'portal.acme.test'],
    ['https://portal.acme.test/login?a=b', 'portal.acme.test'],
    ['http://portal.acme.test:8000', 'portal.acme.test'],
    ['portal.acme.test:443', 'portal.acme.test'],
    ['täst.example', 'xn--tst-qla.example'],
    ['12345678', '12345678'],
    ['_sip._udp.acme.test', '_sip._udp.acme.test'],
  ])('%s is %s', (text, host) => {
    expect(hostNameOf(text)).toBe(host)
  })

  it.each([
    ...['', '.', 'a..b', 'a b', '-a.test', 'a-.test', 'user@acme.test', '[::1]', 'ftp://a.test', '*.a.test'],
    ...[`${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}abc`, 'a\0b', 'https://', 'a/b@c d'],
  ])('%j is none', (text) => {
    expect(hostNameOf(text)).toBeUndefined()
  })

  it('has one spelling, whatever was written', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const host = hostNameOf(text)
        if (host !== undefined) expect(hostNameOf(host)).toBe(host)
      }),
    )
  })
})

describe('a link', () => {
  const isGood = (help: string) => Object.keys(whitelabelProblems({ nav: { help } })).length === 0

  it.each([
    '',
    'https://a.test/x',
    'a.test',
    'a.test/x',
    'a.test:8080/x',
    '/help',
    'mailto:a@b.test',
    'tel:+1',
  ])('may be %j', (text) => expect(isGood(text)).toBe(true))

  it.each([
    ...['javascript:alert(1)', 'JAVASCRIPT:x', 'javascript:1/alert(1)', 'data:text/html,x', 'vbscript:x'],
    ...[' javascript:x', 'java\tscript:x', '\x01javascript:x', 'java\u200bscript:x', 'blob:x', 'a b'],
  ])('may not be %j', (text) => expect(isGood(text)).toBe(false))
})

describe('what DNS holds', () => {
  it('is compared without regard to case, order, spacing and a dot at the end', () => {
    expect(matches('A', ['203.0.113.1', '203.0.113.2'], ['203.0.113.2', '203.0.113.1'])).toBe(true)
    expect(matches('AAAA', ['2001:DB8::0:1'], ['2001:db8::1'])).toBe(true)
    expect(matches('CNAME', ['UI.vendor.example.'], ['ui.Vendor.example'])).toBe(true)
    expect(matches('MX', ['10 mx.example.'], ['mx.example'])).toBe(true)
    expect(matches('SRV', ['10  20 5060 sip.example.'], ['10 20 5060 sip.example'])).toBe(true)
    expect(matches('NAPTR', ['10 100 "s" "sip+d2u" "" a.b.'], ['10 100 "S" "SIP+D2U" "" a.b'])).toBe(true)
    expect(matches('A', ['203.0.113.1'], ['203.0.113.1', '203.0.113.2'])).toBe(false)
    expect(matches('A', ['203.0.113.1'], [])).toBe(false)
    expect(matches('TXT', ['a=B'], ['other', 'a=B'])).toBe(true)
    expect(matches('TXT', ['a=B'], ['a=b'])).toBe(false)
  })

  it('holds a key in whatever order and spacing, and no revoked or foreign one', () => {
    const key = { type: 'rsa', publicKey: 'AbC+/=' }
    for (const text of ['v=DKIM1; p=AbC+/=', 'p=AbC+/=', ' k = rsa ; p= Ab C+\r\n /= ; v=DKIM1;t=s']) {
      expect(holdsKey(text, key)).toBe(true)
    }
    for (const text of ['', 'v=DKIM1; p=', 'v=DKIM2; p=AbC+/=', 'k=ed25519; p=AbC+/=', 'v=DKIM1; p=abc+/=']) {
      expect(holdsKey(text, key)).toBe(false)
    }
  })
})

it('a template that lacks parts is expanded all the same', () => {
  const template = { A: { 'x.{{domain}}': { zone: '{{domain}}' } }, MX: {} }
  expect(expand(template, 'a.test')).toEqual({
    A: { 'x.a.test': { zone: '{{domain}}', mapping: [] } },
    MX: {},
  })
})

it('codes are four digits, all of them about as often', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (random) => {
      expect(codeFrom(Buffer.from(random))).toMatch(/^[1-9]\d{3}$/)
    }),
  )
})

it('no more happens within a time than is allowed', () => {
  const limits = [
    { seconds: 60, most: 3 },
    { seconds: 600, most: 5 },
  ]
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 60 }), (gaps) => {
      const times: number[] = []
      let now = 1000
      for (const gap of gaps) {
        now += gap
        const wait = secondsToWait(times, now, limits)
        if (wait > 0) expect(secondsToWait(times, now + wait, limits)).toBe(0)
        else times.push(now)
      }
      for (const { seconds, most } of limits) {
        for (const end of times) {
          expect(times.filter((time) => time > end - seconds && time <= end).length).toBeLessThanOrEqual(most)
        }
      }
    }),
  )
})

it('the name of a file contains only safe characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (given) => {
      expect(nameToKeep('logo', given, 'image/png')).toMatch(/^logo-[\p{L}\p{M}\p{N}\uFFFD_-]{1,100}\.png$/u)
    }),
  )
  expect(nameToKeep('logo', '../../etc/my logo.svg', 'image/png')).toBe('logo-my_logo.png')
})
