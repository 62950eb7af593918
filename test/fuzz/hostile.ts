// Hostile values.
import type { Json } from '../../src/lib/json.ts'
import type { Chance } from './chance.ts'

const texts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff',
  '\u202eevil\u202c',
  '\ufeff',
  'ﬁ İ ı ß ẞ Σ ς',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  'a'.repeat(300),
  '\u0301'.repeat(200),
  '../../../etc/passwd',
  '%00',
  '%',
  '%ff',
  "'; DROP TABLE records; --",
  "' OR '1'='1",
  '<script>alert(1)</script>',
  '{{name}}',
  '$1',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'true',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e309',
  '99999999999999999999',
  '0x10',
  '(a+)+$',
  '[',
  '*',
  '_',
  '/',
  '0.0.0.0/0',
  '::/0',
  '300.1.1.1/99',
  '\r\nset-cookie: a=b',
  'Ａｃｍｅ',
  '2026-02-30',
]

const numbers = [0, -0, -1, 1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e308, 5e-324, 63_900_000_000]

export const keys = [
  '__proto__',
  'constructor',
  'prototype',
  'id',
  '_id',
  '_rev',
  'pvt_tree',
  'pvt_account_id',
  'account_id',
  'owner_id',
  'name',
  'realm',
  'username',
  'password',
  'credentials',
  'enabled',
  'priv_level',
  'flags',
  'a.b.c',
  '',
  ' ',
  '\0',
  'toString',
]

export const hostileText = (chance: Chance) => chance.pick(texts)

/** Any JSON value, rarely of the required type. */
export const hostileValue = (chance: Chance, depth = 3): unknown => {
  const kind = chance.below(depth > 0 ? 9 : 6)
  if (kind <= 2) return hostileText(chance)
  if (kind === 3) return chance.pick(numbers)
  if (kind === 4) return chance.once(2)
  if (kind === 5) return null
  if (kind === 6) return chance.many(4, () => hostileValue(chance, depth - 1))
  return hostileObject(chance, depth - 1)
}

export const hostileObject = (chance: Chance, depth = 2): Json =>
  // Not by assignment: `__proto__` is to be a key like any other.
  Object.fromEntries(
    chance.many(5, () => [
      chance.once(4) ? hostileText(chance) : chance.pick(keys),
      hostileValue(chance, depth),
    ]),
  )

/** A valid body with parts replaced, added or removed. */
export const spoiled = (chance: Chance, body: Json): Json => {
  const entries = Object.entries(body).filter(() => !chance.once(8))
  const some = entries.map(([key, value]) => [key, chance.once(3) ? hostileValue(chance) : value] as const)
  return Object.fromEntries([...some, ...(chance.once(2) ? Object.entries(hostileObject(chance)) : [])])
}

const spoilText = (chance: Chance, text: string) => {
  const at = chance.below(text.length + 1)
  const inserted = chance.pick([
    '"',
    '{',
    '}',
    '[',
    ',',
    ':',
    '\\',
    '\\u',
    '\\ud800',
    '\0',
    '\u2028',
    '1',
    'e',
    '-',
  ])
  return chance.once(2) ? text.slice(0, at) : text.slice(0, at) + inserted + text.slice(at + chance.below(3))
}

const depths = ['['.repeat(5000), '{"a":'.repeat(3000), `{"data":${'['.repeat(2000)}${']'.repeat(2000)}}`]

/** A body that is not a good JSON envelope. */
export const brokenBody = (chance: Chance, json: string): string | Buffer => {
  const kind = chance.below(12)
  if (kind <= 5) return spoilText(chance, json)
  if (kind <= 7) return chance.bytes(chance.below(200))
  if (kind === 8)
    return chance.pick(['', 'null', '[]', '"data"', '0', '{}', '{"data":1}', '{"data":null}', '{"data":"a"}'])
  if (kind === 9) return chance.pick(depths)
  if (kind === 10) return Buffer.concat([Buffer.from(json), Buffer.from([0xc3, 0x28, 0xff])])
  return `{"data":{"name":"${'x'.repeat(20_000)}"}}`
}
