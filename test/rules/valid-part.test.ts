// The rest of a document that breaks its schema: everything that is valid.
import fc from 'fast-check'
import type { TSchema } from 'typebox'
import { describe, expect, it } from 'vitest'
import type { Draft } from '../../import-kazoo/documents/document.ts'
import { quarantineInvalidFields } from '../../import-kazoo/import-run/batches.ts'
import { Account } from '../../src/areas/accounts/accounts/schema.ts'
import { User } from '../../src/areas/accounts/users/schema.ts'
import { validPartOf } from '../../src/areas/valid-part.ts'
import { Connectivity } from '../../src/areas/voice/connectivity/schema.ts'
import { Device } from '../../src/areas/voice/devices/schema.ts'
import { Resource } from '../../src/areas/voice/resources/schema.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import type { Problems } from '../../src/lib/failure.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { keyedBy, list, must, open, text, uniqueList } from '../../src/lib/schema.ts'

const validations = new Map<TSchema, ReturnType<typeof createValidation>>()
const validationOf = (schema: TSchema) => {
  const known = validations.get(schema) ?? createValidation(schema)
  validations.set(schema, known)
  return known
}

const validate = async (schema: TSchema, data: unknown) => validationOf(schema)(data) as never
const partOf = (schema: TSchema, doc: Json) => validPartOf(validate, schema, doc)

const texts = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [String(value)]

/** Every place of a document, containers among them. */
const placesIn = (value: unknown, place: readonly string[] = []): (readonly string[])[] =>
  isObject(value) || Array.isArray(value)
    ? Object.entries(value).flatMap(([key, inner]) => [[...place, key], ...placesIn(inner, [...place, key])])
    : []

const setAt = (doc: Json, place: readonly string[], value: unknown) => {
  const holder = memberOf(doc, ...place.slice(0, -1))
  Object.assign(holder as object, { [place.at(-1) ?? '']: value })
}

const calling = {
  call_restriction: { international: { action: 'deny' } },
  caller_id: { external: { name: 'Acme', number: '+14155550100' }, emergency: { number: '+14155550111' } },
  media: { audio: { codecs: ['PCMU', 'OPUS'] }, encryption: { enforce_security: true, methods: ['srtp'] } },
  formatters: { from: { direction: 'inbound', prefix: '+' }, to: [{ suffix: '1' }, { strip: true }] },
}

const samples: readonly [TSchema, Json][] = [
  [Account, { name: 'A', realm: 'a.example', access_lists: { order: 'deny,allow', cidrs: [] }, ...calling }],
  [User, { first_name: 'A', last_name: 'B', hotdesk: { id: '7', pin: '1234' }, ...calling }],
  [Device, { name: 'D', sip: { username: 'd1', password: 'secret-1' }, outbound_flags: ['a'], ...calling }],
  [
    Connectivity,
    {
      servers: [
        { auth: { auth_user: 'a', auth_password: 'b' }, options: { inbound_format: 'e164', delay: 1 } },
        { auth: { auth_user: 'c' }, DIDs: { '+14155550100': { failover: { e164: '1' } } } },
      ],
    },
  ],
  [
    Resource,
    {
      name: 'R',
      rules: ['^1'],
      flags: ['x'],
      gateways: [
        { server: 'a.example', port: 5060, password: 'p', codecs: ['PCMU'] },
        { server: 'b.example', transport: 'tls' },
      ],
    },
  ],
]

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    'a\0',
    '\ud83d',
    99_999,
    -1,
    1e300,
    [],
    {},
    [[]],
    ['PCMU', 'PCMU'],
  ),
  fc.string({ minLength: 300, maxLength: 300 }),
  fc.constant({ unknown: [{ deep: 'value' }] }),
)

describe('the valid part of a document', () => {
  it('is valid, and together with what was removed it has every value of the document', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...samples),
        fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 4 }),
        async ([schema, sound], changes) => {
          const given = structuredClone(sound)
          for (const [at, value] of changes) {
            const places = placesIn(given)
            setAt(given, places[at % places.length] ?? ['name'], structuredClone(value))
          }
          const { doc, removed, unsolved } = await partOf(schema, given)
          if (unsolved.length === 0) expect(validationOf(schema)(doc).problems).toEqual({})
          // The one place that a required field at the top leaves empty.
          else expect(unsolved.every((path) => !path.includes('.'))).toBe(true)
          for (const { place } of removed) expect(memberOf(given, ...place)).toBeDefined()
          const kept = [...texts(doc), ...removed.flatMap(({ value }) => texts(value))]
          for (const one of texts(given)) {
            const at = kept.indexOf(one)
            expect(at, `${one} of ${JSON.stringify(given)}`).toBeGreaterThanOrEqual(0)
            kept.splice(at, 1)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('has the places of removed items as they were given', async () => {
    const schema = open({
      all: list(open({ name: must(text(1, 3)), other: text(1, 3) })),
      names: uniqueList(text(1, 3), { maxItems: 2 }),
      by: keyedBy('^[a-z]$', text(1, 3)),
    })
    const given = {
      all: [{ name: 'long' }, { name: 'b', other: 'long' }, { other: 'c' }, { name: 'd' }],
      names: ['a', 'a', 'long', 'b', 'c', 'd', 'e'],
      by: { a: '1', AB: '2', c: 'long' },
    }
    const { doc, removed, unsolved } = await partOf(schema, given)
    expect(doc).toEqual({ all: [{ name: 'b' }, { name: 'd' }], names: ['a', 'b'], by: { a: '1' } })
    expect(unsolved).toEqual([])
    expect(Object.fromEntries(removed.map(({ place, value }) => [place.join('.'), value]))).toEqual({
      'all.0.name': 'long',
      'all.0': {},
      'all.1.other': 'long',
      'all.2': { other: 'c' },
      'names.1': 'a',
      'names.2': 'long',
      'names.4': 'c',
      'names.5': 'd',
      'names.6': 'e',
      'by.AB': '2',
      'by.c': 'long',
    })
  })
})

describe('a rule', () => {
  it('removes a value whose key contains a dot', async () => {
    const schema = open({ numbers: keyedBy('^.+$', text(1, 20)) })
    const doc = { numbers: { 'a.b': 'bad', c: 'good' } }
    const rules = ({ numbers }: Json): Problems =>
      memberOf(numbers, 'a.b') === undefined ? {} : { 'numbers.a%2Eb': { wanted: { message: 'is bad' } } }
    const { doc: rest, removed, unsolved } = await validPartOf(validate, schema, doc, rules)
    expect(rest).toEqual({ numbers: { c: 'good' } })
    expect(removed).toEqual([{ place: ['numbers', 'a.b'], value: 'bad' }])
    expect(unsolved).toEqual([])
  })
})

describe('rejected secrets', () => {
  const setAside = quarantineInvalidFields({ adoptions: { device: { schema: Device } }, validate })
  const draftOf = (doc: Json): Draft => ({
    ...{ as: 'device', accountId: 'a', id: 'd', created: 1, modified: 1, doc, facts: {}, files: [] },
  })

  it('are marked as such, once, in documents that were exported and are imported again', async () => {
    const place = { database: 'a', id: 'd' }
    const sip = { username: 'desk', password: 'abc' }
    const { doc, findings } = await setAside(draftOf({ name: 'D', sip }), place)
    expect(doc).toMatchObject({
      sip: { username: 'desk' },
      kazoo_import: { rejected: { 'sip.password': { secret: 'abc' } } },
    })
    expect(findings).toEqual([{ severity: 'repaired', code: 'set_aside', ...place, field: 'sip.password' }])
    expect(await setAside(draftOf(doc), place)).toEqual({ doc, findings: [] })
  })
})
