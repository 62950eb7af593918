import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { createValidation } from '../../src/http/request/validation.ts'
import { maxDepth } from '../../src/lib/json.ts'
import { dropNulls, dropPrivateKeys, mergePatch } from '../../src/lib/json-merge.ts'
import {
  anyObject,
  anyText,
  choice,
  closed,
  either,
  flag,
  id,
  integer,
  keyed,
  keyedBy,
  list,
  must,
  number,
  open,
  text,
  timezone,
  typed,
  uniqueList,
} from '../../src/lib/schema.ts'
import { isTimezone, timezoneNames } from '../../src/lib/timezones.ts'

type Schema = Parameters<typeof createValidation>[0]

const problemsOf = (schema: Schema, data: unknown) => createValidation(schema)(data).problems
const nest = (levels: number) => {
  let value: unknown = 'end'
  for (let level = 0; level < levels; level += 1) value = { a: value }
  return value
}

describe('each rule of the table', () => {
  const combined = (rule: string, value: unknown) => ({
    x: { [rule]: { message: 'failed to validate', value } },
  })

  it.each<[string, Schema, unknown, object]>([
    [
      'required',
      open({ x: must(anyText()) }),
      {},
      { x: { required: { message: 'Field is required but missing', value: 'x' } } },
    ],
    [
      'type',
      open({ x: anyObject() }),
      { x: [1] },
      { x: { type: { message: 'Value did not match type(s): object', target: 'object', value: [1] } } },
    ],
    [
      'type of several',
      open({ x: typed(['string', 'integer']) }),
      { x: true },
      {
        x: {
          type: {
            message: 'Value did not match type(s): string, integer',
            target: 'string, integer',
            value: true,
          },
        },
      },
    ],
    [
      'enum',
      open({ x: choice(['a', 'b']) }),
      { x: 'c' },
      {
        x: {
          enum: { message: 'Value not found in enumerated list of values', target: ['a', 'b'], value: 'c' },
        },
      },
    ],
    [
      'enum of a constant',
      open({ x: Type.Literal('a') }),
      { x: 'c' },
      { x: { enum: { message: 'Value not found in enumerated list of values', target: ['a'], value: 'c' } } },
    ],
    [
      'enum of a time zone',
      open({ x: timezone() }),
      { x: "Mars/Tséyi'" },
      {
        x: {
          enum: {
            message: 'Value not found in enumerated list of values',
            target: 'names of the IANA time zone database',
            value: "Mars/Tséyi'",
          },
        },
      },
    ],
    [
      'minLength',
      open({ x: text(3, 9) }),
      { x: 'ab' },
      {
        x: {
          minLength: { message: 'String must be at least 3 characters', target: 3, cause: 'ab', value: 'ab' },
        },
      },
    ],
    [
      'maxLength, counted in characters',
      open({ x: text(0, 3) }),
      { x: '😀😀😀😀' },
      {
        x: {
          maxLength: {
            message: 'String must not be more than 3 characters',
            target: 3,
            cause: '😀😀😀😀',
            value: '😀😀😀😀',
          },
        },
      },
    ],
    [
      'minimum',
      open({ x: integer({ minimum: 5 }) }),
      { x: 4 },
      { x: { minimum: { message: 'Value must be at least 5', target: 5, value: 4 } } },
    ],
    [
      'maximum',
      open({ x: integer({ maximum: 5 }) }),
      { x: 6 },
      { x: { maximum: { message: 'Value must be at most 5', target: 5, value: 6 } } },
    ],
    [
      'exclusive minimum',
      open({ x: number({ exclusiveMinimum: 0 }) }),
      { x: 0 },
      { x: { minimum: { message: 'Value must be more than 0', target: 0, value: 0 } } },
    ],
    [
      'exclusive maximum',
      open({ x: number({ exclusiveMaximum: 1 }) }),
      { x: 1 },
      { x: { maximum: { message: 'Value must be less than 1', target: 1, value: 1 } } },
    ],
    [
      'minItems',
      open({ x: list(anyText(), { minItems: 1 }) }),
      { x: [] },
      { x: { minItems: { message: 'The list must have at least 1 items', target: 1, value: [] } } },
    ],
    [
      'maxItems',
      open({ x: list(anyText(), { maxItems: 1 }) }),
      { x: ['a', 'b'] },
      {
        x: {
          maxItems: { message: 'The list must not have more than 1 items', target: 1, value: ['a', 'b'] },
        },
      },
    ],
    [
      'minProperties',
      open({ x: open({}, { minProperties: 1 }) }),
      { x: {} },
      { x: { minProperties: { message: 'The object must have at least 1 keys', target: 1, value: {} } } },
    ],
    [
      'uniqueItems',
      open({ x: uniqueList(anyText()) }),
      { x: ['a', 'b', 'a'] },
      { x: { uniqueItems: { message: 'List of items is not unique', value: ['a', 'b', 'a'] } } },
    ],
    [
      'pattern',
      open({ x: anyText({ pattern: '^\\d+$' }) }),
      { x: 'ab' },
      { x: { pattern: { message: "Failed to match pattern '^\\d+$'", target: '^\\d+$', value: 'ab' } } },
    ],
    [
      'wrong_format',
      open({ x: anyText({ format: 'email' }) }),
      { x: 'not-mail' },
      {
        x: {
          wrong_format: { message: 'Field is not in the correct format', value: 'not-mail', format: 'email' },
        },
      },
    ],
    [
      'additionalProperties, at the key that is too much',
      open({ x: closed({ a: flag() }) }),
      { x: { a: true, b: 1 } },
      {
        'x.b': {
          additionalProperties: {
            message: 'Only properties that the schema defines are allowed',
            target: ['a'],
            value: 1,
          },
        },
      },
    ],
    [
      'additionalItems',
      open({ x: Type.Tuple([anyText()]) }),
      { x: ['a', 'b'] },
      {
        x: {
          additionalItems: { message: 'Only items that the schema defines are allowed', value: ['a', 'b'] },
        },
      },
    ],
    [
      'dependencies',
      open({}, { dependencies: { x: ['y'] } }),
      { x: 1 },
      { x: { dependencies: { message: 'Field needs y as well', value: 'y' } } },
    ],
    [
      'divisibleBy',
      open({ x: integer({ multipleOf: 3 }) }),
      { x: 4 },
      { x: { divisibleBy: { message: 'Value not divisible by 3', target: 3, value: 4 } } },
    ],
    [
      'any_schemas_not_valid',
      open({ x: either([flag(), integer()]) }),
      { x: 'a' },
      {
        x: {
          any_schemas_not_valid: {
            message: 'failed to validate',
            target: ['boolean', 'integer'],
            value: 'a',
          },
        },
      },
    ],
    [
      'not_one_schema_valid',
      open({ x: Type.Unsafe({ oneOf: [{ type: 'integer' }, { minimum: 3 }] }) }),
      { x: 5 },
      combined('not_one_schema_valid', 5),
    ],
    [
      'not_schema_valid',
      open({ x: Type.Unsafe({ not: { type: 'integer' } }) }),
      { x: 5 },
      combined('not_schema_valid', 5),
    ],
  ])('reports %s', (_rule, schema, data, problems) => {
    expect(problemsOf(schema, data)).toEqual(problems)
  })
})

describe('paths', () => {
  it('joins keys by dots, with positions as numbers and dots in keys encoded', () => {
    const schema = open({
      rules: list(open({ regex: must(anyText()) })),
      by: keyed(open({ on: flag() })),
    })
    const problems = problemsOf(schema, { rules: [{ regex: 'a' }, {}], by: { 'a.b/c~d': { on: 1 } } })
    expect(Object.keys(problems)).toEqual(['rules.1.regex', 'by.a%2Eb/c~d.on'])
  })

  it.each([null, [], 'text', 5, undefined])('calls the document itself data: %j', (data) => {
    const { problems, sound } = createValidation(open({ x: must(flag()) }))(data)
    expect(Object.keys(problems)).toEqual(['data'])
    expect(problems.data?.type).toMatchObject({ target: 'object' })
    expect(sound).toEqual({})
  })

  it('does not take a property called anyOf for an alternative', () => {
    expect(
      problemsOf(open({ anyOf: open({ '0': flag() }), not: flag() }), { anyOf: { 0: 'a' }, not: 'a' }),
    ).toEqual({
      'anyOf.0': { type: { message: expect.any(String), target: 'boolean', value: 'a' } },
      not: { type: { message: expect.any(String), target: 'boolean', value: 'a' } },
    })
  })

  it('reports all rules that a value breaks', () => {
    const { x } = problemsOf(open({ x: text(3, 9, { pattern: '^\\d*$' }) }), { x: 'a' })
    expect(Object.keys(x ?? {})).toEqual(['minLength', 'pattern'])
  })
})

describe('lenient casts', () => {
  const schema = open({
    whole: integer({ minimum: 2 }),
    amount: number(),
    on: flag(),
    mixed: typed(['boolean', 'string'], { enum: [true, false, 'auto'] }),
    each: list(integer()),
    one: either([list(open({ on: flag() })), open({ on: flag() })]),
    name: anyText(),
  })

  it.each<[object, object]>([
    [{ whole: '60' }, { whole: 60 }],
    [{ whole: '+7' }, { whole: 7 }],
    [{ amount: '-1.5e2' }, { amount: -150 }],
    [{ on: 'true' }, { on: true }],
    [{ on: 'false' }, { on: false }],
    [{ mixed: 'true' }, { mixed: true }],
    [{ mixed: 'auto' }, { mixed: 'auto' }],
    [{ each: ['1', 2, '3'] }, { each: [1, 2, 3] }],
    [{ one: { on: 'true' } }, { one: { on: true } }],
    [{ name: '5' }, { name: '5' }],
  ])('takes %j as %j', (data, value) => {
    expect(createValidation(schema)(data)).toEqual({ value, problems: {}, sound: value })
  })

  it.each<[object, string, string]>([
    [{ whole: '' }, 'whole', 'type'],
    [{ whole: ' 5' }, 'whole', 'type'],
    [{ whole: '0x10' }, 'whole', 'type'],
    [{ whole: '5.5' }, 'whole', 'type'],
    [{ whole: '99999999999999999999' }, 'whole', 'type'],
    [{ whole: '1' }, 'whole', 'minimum'],
    [{ amount: '1e999' }, 'amount', 'type'],
    [{ amount: 'Infinity' }, 'amount', 'type'],
    [{ on: 'yes' }, 'on', 'type'],
    [{ on: 1 }, 'on', 'type'],
    [{ name: 5 }, 'name', 'type'],
  ])('refuses %j', (data, path, rule) => {
    expect(Object.keys(problemsOf(schema, data)[path] ?? {})).toEqual([rule])
  })
})

describe('defaults', () => {
  const schema = open({
    enabled: flag({ default: true }),
    sip: open({ method: anyText({ default: 'password' }) }, { default: {} }),
    media: open({ secure: flag({ default: false }) }),
  })

  it('fills them in and leaves the sent document alone', () => {
    const sent = { media: {}, custom: { a: [1] } }
    expect(createValidation(schema)(sent).value).toEqual({
      enabled: true,
      sip: { method: 'password' },
      media: { secure: false },
      custom: { a: [1] },
    })
    expect(sent).toEqual({ media: {}, custom: { a: [1] } })
  })

  it('hands out a fresh default each time', () => {
    const validate = createValidation(schema)
    Object.assign(validate({}).value.sip as object, { spoilt: true })
    expect(validate({}).value.sip).toEqual({ method: 'password' })
  })
})

describe('the sound part', () => {
  it('is the value without the top-level keys that fail', () => {
    const schema = open({ name: must(anyText()), sip: open({ a: flag(), b: flag({ default: true }) }) })
    const judged = createValidation(schema)({ name: 'x', sip: { a: 5 }, other: 1 })
    expect(judged.sound).toEqual({ name: 'x', other: 1 })
    expect(judged.value).toEqual({ name: 'x', sip: { a: 5, b: true }, other: 1 })
  })

  it('is empty when the document failed as a whole, or was not validated to its end', () => {
    const branches = either([open({ a: must(flag()) }), open({ b: must(flag()) })])
    expect(createValidation(branches)({ a: 1 }).sound).toEqual({})
    const large = { x: Array.from({ length: 30_000 }, () => 5), y: 'unjudged' }
    expect(createValidation(open({ x: list(flag()), y: flag() }))(large).sound).toEqual({})
  })

  it('is the value itself when nothing fails', () => {
    const { value, sound } = createValidation(open({}))({ a: 1 })
    expect(sound).toBe(value)
  })
})

describe('what comes back to the sender', () => {
  const schema = open({
    password: integer(),
    sip: open({ password: text(5, 32), ip: closed({}) }),
    username: text(1, 8),
    many: flag(),
  })

  it('never holds a secret', () => {
    const problems = problemsOf(schema, {
      password: 'hunter2',
      sip: { password: 'abc', ip: { credentials: 'hunter2' } },
      many: { password: 'hunter2' },
    })
    expect(Object.keys(problems)).toEqual(['password', 'sip.password', 'sip.ip.credentials', 'many'])
    expect(problems['sip.password']?.minLength).toEqual({ message: expect.any(String), target: 5 })
    expect(JSON.stringify(problems)).not.toMatch(/hunter2|abc/)
  })

  it('still names a missing secret', () => {
    const { password } = problemsOf(open({ password: must(anyText()) }), {})
    expect(password?.required?.value).toBe('password')
  })

  it('is short for long texts and leaves large values out', () => {
    const long = 'x'.repeat(1_000_000)
    const problems = problemsOf(schema, {
      username: long,
      many: Array.from({ length: 9 }, () => 1),
      sip: { ip: { [long]: { a: { b: 1 } } } },
    })
    expect(problems.username?.maxLength?.value).toBe(`${'x'.repeat(256)}…`)
    expect(problems.many?.type).not.toHaveProperty('value')
    expect(JSON.stringify(problems).length).toBeLessThan(2000)
  })

  it('is bounded in number', () => {
    const data = { x: Array.from({ length: 15_000 }, () => 'a') }
    expect(Object.keys(problemsOf(open({ x: list(flag()) }), data)).length).toBe(500)
  })
})

describe('hostile documents', () => {
  it('are refused when nested deeper than 64 levels', () => {
    const validate = createValidation(open({ x: flag() }))
    expect(validate(nest(maxDepth)).problems).toEqual({})
    const { problems, sound } = validate({ ...(nest(maxDepth + 1) as object), x: true })
    expect(problems).toEqual({
      [Array(maxDepth).fill('a').join('.')]: {
        maxDepth: { message: 'Value is nested more than 64 levels deep', target: 64 },
      },
    })
    expect(sound).toEqual({ x: true })
  })

  it('cannot overflow the stack', () => {
    const deep = nest(200_000)
    expect(Object.keys(createValidation(open({}))(deep).problems)).toHaveLength(1)
    expect(() => [dropNulls(deep), mergePatch(deep, deep), mergePatch({}, deep)]).not.toThrow()
  })

  it('cannot reach prototypes', () => {
    const data = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":{"__proto__":{}}}',
    )
    const { value, problems } = createValidation(keyed(anyObject()))(data)
    expect(problems).toEqual({})
    expect(Object.keys(value)).toEqual(['constructor', 'a'])
    for (const result of [value, dropNulls(data), mergePatch({ a: {} }, data), mergePatch(data, { a: {} })]) {
      expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
      expect(Object.keys(result as object).sort()).toEqual(['a', 'constructor'])
    }
    expect({}).not.toHaveProperty('polluted')
  })

  it('may fail at keys that every object inherits', () => {
    const problems = problemsOf(keyed(flag()), { constructor: 1, toString: 2 })
    expect(Object.keys(problems)).toEqual(['constructor', 'toString'])
    expect(problems.constructor).toHaveProperty('type')
  })

  it.each<[string, unknown]>([
    ['NUL', { x: 'a\0b' }],
    ['half a surrogate pair', { x: '\ud83d' }],
    ['such a key', { x: { '\udc00': 1 } }],
    ['a number beyond all bounds', JSON.parse('{"x":1e999}')],
  ])('are refused for %s', (_what, data) => {
    const { problems, sound } = createValidation(open({}))(data)
    expect(Object.values(problems).map(Object.keys)).toEqual([['invalid']])
    expect(sound).toEqual({})
  })

  it('of great size are validated up to their first error', () => {
    const wrong = problemsOf(open({ x: list(flag()) }), { x: Array.from({ length: 1_000_000 }, () => 5) })
    const repeated = Array.from({ length: 200_000 }, (_, index) => `${index}`)
    const right = problemsOf(open({ x: uniqueList(anyText()) }), { x: repeated })
    const cast = createValidation(open({ x: list(integer()), on: flag() }))({
      x: repeated.map(Number),
      on: 'true',
    })
    expect(Object.keys(wrong)).toEqual(['x.0'])
    expect(cast.value.on).toBe(true)
    expect(right).toEqual({})
  })
})

describe('any JSON at all', () => {
  const schema = closed({
    name: must(text(1, 8)),
    id: id(),
    zone: timezone(),
    enabled: flag({ default: true }),
    count: integer({ minimum: 0, default: 3 }),
    tags: uniqueList(anyText()),
    kind: choice(['a', 'b'], { default: 'a' }),
    keys: keyedBy('^[0-9]+$', open({ type: anyText(), on: flag({ default: false }) })),
    one: either([list(integer()), integer()]),
    sip: open({ method: anyText({ default: 'password' }) }, { default: {} }),
  })
  const validate = createValidation(schema)
  // JSON numbers hold larger integers only approximately.
  const exactJson = fc
    .jsonValue({ maxDepth: 2 })
    .map((value) =>
      JSON.parse(JSON.stringify(value), (_key, inner: unknown) =>
        Number.isInteger(inner) && !Number.isSafeInteger(inner) ? 1 : inner,
      ),
    )
  const sound = fc.record(
    {
      name: fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme-ascii' }),
      enabled: fc.boolean(),
      count: fc.nat(),
      tags: fc.uniqueArray(fc.string({ unit: 'grapheme-ascii' })),
      kind: fc.constantFrom('a', 'b'),
      keys: fc.dictionary(fc.nat().map(String), fc.record({ type: fc.string({ unit: 'grapheme-ascii' }) })),
      one: fc.oneof(fc.array(fc.integer()), fc.integer()),
      sip: fc.record({ extra: exactJson }).map(dropNulls),
      zone: fc.constantFrom(...timezoneNames),
    },
    { requiredKeys: ['name'] },
  )

  it('is validated without throwing, and twice alike', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.object(), fc.anything({ withNullPrototype: true })), (data) => {
        const first = validate(data)
        const second = validate(first.value)
        expect(second.value).toEqual(first.value)
        expect(() => JSON.stringify(first.problems)).not.toThrow()
      }),
      { numRuns: 2000 },
    )
  })

  it('passes unchanged apart from defaults when it is right', () => {
    fc.assert(
      fc.property(sound, (data) => {
        const { value, problems } = validate(data)
        expect(problems).toEqual({})
        expect(value).toMatchObject(data)
        expect(mergePatch(value, data)).toEqual(value)
      }),
      { numRuns: 500 },
    )
  })

  it('keeps in its sound part only values that a second validation accepts', () => {
    const loose = createValidation(
      open({ count: integer(), tags: list(anyText()), sip: open({ on: flag() }) }),
    )
    const messy = fc.record({ count: fc.jsonValue(), tags: fc.jsonValue(), sip: fc.jsonValue() })
    fc.assert(
      fc.property(messy, (data) => {
        expect(loose(loose(data).sound).problems).toEqual({})
      }),
      { numRuns: 500 },
    )
  })
})

describe('data that are given away', () => {
  const shape = open({ on: flag(), name: anyText(), count: integer(), inner: anyObject() })
  const validate = createValidation(shape)

  it('are validated as those that are lent', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('', 'a\0', '\ud83d', 'x\udc00', '1', 'true'))
    const scalar = fc.oneof(text, fc.constantFrom<unknown>(null, true, 7, Number.POSITIVE_INFINITY))
    const { value: any } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.array(tie('value')),
        fc.dictionary(fc.oneof(text, fc.constantFrom('on', 'name', 'count', '__proto__')), tie('value')),
        fc.constantFrom(maxDepth - 1, maxDepth, maxDepth + 1).map(nest),
      ),
    }))
    fc.assert(
      fc.property(any, (data) => {
        const copied = structuredClone(data)
        const { places: given, ...judged } = validate(copied, 'lenient', 'given')
        const { places: lent, ...expected } = validate(data)
        expect([judged, given?.()]).toEqual([expected, lent?.()])
      }),
      { numRuns: 2000 },
    )
  })

  it('are not copied where nothing is wrong with them', () => {
    const data = { on: 'true', name: 'a', inner: { list: [1, { b: null }] } }
    expect(validate(data, 'lenient', 'given').value).toBe(data)
    expect(data.on).toBe(true)
  })

  it('are refused for their numbers, and lose prototypes, where only their texts are known to be sound', () => {
    const data = JSON.parse('{"name":"a","x":[1e999],"inner":{"__proto__":{"polluted":1}}}')
    const { value, problems } = validate(data, 'lenient', 'given with sound texts')
    expect(Object.keys(problems)).toEqual(['x.0'])
    expect(Object.keys(value.inner ?? {})).toEqual([])
  })
})

describe('merging a patch', () => {
  const document = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    .map(dropNulls) as fc.Arbitrary<object>
  const patch = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
  const clean = (value: unknown) => mergePatch({}, value)

  it('merges objects, replaces lists and removes keys by null', () => {
    const current = { a: { b: 1, c: [1, 2] }, d: 5, e: { f: 1 } }
    expect(mergePatch(current, { a: { c: [3] }, d: null, e: null, g: { h: null, i: 1 } })).toEqual({
      a: { b: 1, c: [3] },
      g: { i: 1 },
    })
    expect(current.a.c).toEqual([1, 2])
  })

  it('does nothing with an empty patch, and nothing new the second time', () => {
    fc.assert(
      fc.property(document, patch, (current, change) => {
        expect(mergePatch(current, {})).toEqual(clean(current))
        const once = mergePatch(current, change)
        expect(mergePatch(once, change)).toEqual(once)
      }),
    )
  })

  it('reaches any document from any other', () => {
    fc.assert(
      fc.property(document, document, (from, to) => {
        const removal = Object.fromEntries(Object.keys(from).map((key) => [key, null]))
        expect(mergePatch(mergePatch(from, removal), to)).toEqual(clean(to))
      }),
    )
  })

  it('hands on what is not an object, for validation to refuse', () => {
    expect(mergePatch({ a: 1 }, [1])).toEqual([1])
  })
})

describe('dropping keys', () => {
  it('drops nulls at any depth but keeps positions in lists', () => {
    expect(dropNulls({ a: null, b: { c: null, d: [null, { e: null }] } })).toEqual({ b: { d: [null, {}] } })
  })

  it('drops private keys at the top only', () => {
    expect(dropPrivateKeys({ _id: 1, pvt_type: 2, _read_only: {}, a: { _b: 1, pvt_c: 2 } })).toEqual({
      a: { _b: 1, pvt_c: 2 },
    })
    expect(dropPrivateKeys([1])).toEqual([1])
  })
})

describe('time zones', () => {
  it.each([
    'US/Pacific',
    'Etc/GMT+5',
    'UTC',
    'Europe/Kyiv',
    'Europe/Kiev',
    'Asia/Calcutta',
    'GMT',
    'EST5EDT',
  ])('knows %s', (name) => expect(isTimezone(name)).toBe(true))

  it.each(['+01:00', 'us/pacific', 'Mars/Base', '', 'UTC+1', 'Etc/GMT+15', 'IST', 'SystemV/AST4', 'Factory'])(
    'does not know %j',
    (name) => expect(isTimezone(name)).toBe(false),
  )

  it('knows only names that the runtime can format with', () => {
    const unusable = [...timezoneNames].filter((timeZone) => !new Intl.DateTimeFormat('en', { timeZone }))
    expect(unusable).toEqual([])
    expect(timezoneNames.size).toBeGreaterThanOrEqual(597)
  })
})

describe('formats', () => {
  it.each<[string, string, boolean]>([
    ['email', 'ada@example.com', true],
    ['email', 'ada+1@localhost', true],
    ['email', 'jörg@bücher.example', true],
    ['email', 'a b@example.com', false],
    ['email', 'a@example.com\nBcc: b@example.com', false],
    ['email', 'a@b@example.com', false],
    ['email', 'a@-example.com', false],
    ['uri', 'https://example.com/a?b#c', true],
    ['uri', 'example', false],
    ['date-time', '2026-11-21T09:00:00Z', true],
    ['date-time', 'yesterday', false],
    ['ipv4', '300.1.1.1', false],
    ['hostname', 'sip.example.com', true],
  ])('%s takes %j: %s', (format, data, isValid) => {
    expect(Object.keys(problemsOf(open({ x: anyText({ format }) }), { x: data }))).toEqual(
      isValid ? [] : ['x'],
    )
  })
})
