import { describe, expect, it } from 'vitest'
import { isPublicSuffix, namesAbove } from '../../src/areas/accounts/accounts/host-names/rules.ts'

describe('a public suffix', () => {
  it.each(['com', 'co.uk', 'com.au', 'xn--55qx5d.cn', 'xn--p1ai', 'foo.ck', 'github.io', 'synology.me'])(
    'is %s',
    (host) => expect(isPublicSuffix(host)).toBe(true),
  )

  it.each([
    ...['brand.test', 'test', 'localhost', 'pbx.local', 'local', '12345678', '192.0.2.1', 'a_b.test'],
    ...['brand.co.uk', 'www.ck', 'acme.github.io', 'io.github', '_sip.brand.com'],
  ])('is not %s', (host) => expect(isPublicSuffix(host)).toBe(false))
})

describe('the names above a host', () => {
  it.each([
    ['a.b.brand.test', ['b.brand.test', 'brand.test']],
    ['a.brand.co.uk', ['brand.co.uk']],
    ['brand.co.uk', []],
    ['brand.test', []],
    ['test', []],
  ])('that an account may own: %s', (host, names) => expect(namesAbove(host)).toEqual(names))
})
