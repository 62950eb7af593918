import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFields, filterOf, questionsOf } from '../../src/http/response/filters.ts'

const compileFilters = (query: URLSearchParams) => filterOf(questionsOf(query))

import { Failure } from '../../src/lib/failure.ts'

const record = {
  id: 'r1',
  created: 63_900_000_000,
  modified: 63_900_000_100,
  name: 'Desk',
  enabled: true,
  count: 5,
  empty: '',
  nothing: null,
  flags: ['vip', 7, { a: 1 }],
  noFlags: [],
  a: { b: { c: 'value3' }, list: [{ x: 'first' }] },
  caller_id: { external: { number: '+14155550100' } },
  pvt_secret: 'hidden',
  _rev: '1-a',
  deep: { pvt_cost: 5 },
}

const keeps = (query: string, given: Record<string, unknown> = record) => {
  const filter = compileFilters(new URLSearchParams(query))
  if (!filter) throw new Error(`no filter in ${query}`)
  return filter(given)
}
const json = (value: unknown) => encodeURIComponent(JSON.stringify(value))

describe('filters keep the record', () => {
  it.each([
    'filter_name=Desk',
    'filter_enabled=true',
    'filter_count=5',
    'filter_a.b.c=value3',
    'filter_a.list.0.x=first',
    'filter_caller_id.external.number=%2B14155550100',
    'filter_missing=',
    'filter_nothing=',
    `filter_name=${json(['Other', 'Desk'])}`,
    `filter_count=${json([5])}`,
    `filter_missing=${json([''])}`,
    'filter_not_name=Other',
    'filter_not_missing=x',
    'filter_not_flags=vip',
    `filter_not_name=${json(['Other'])}`,
    `filter_any_name=${json(['Desk'])}`,
    `filter_none_name=${json(['Other'])}`,
    `filter_none_missing=${json(['Other'])}`,
    `filter_array_intersect_all_flags=${json(['vip', '7', { a: 1 }])}`,
    `filter_array_intersect_all_flags=${json([])}`,
    `filter_array_intersect_any_flags=${json(['x', 7])}`,
    `filter_array_intersect_none_flags=${json(['x', 'y'])}`,
    `filter_array_intersect_none_missing=${json(['x'])}`,
    'has_key=name',
    'has_key=a.b',
    'has_key=empty',
    'key_missing=missing',
    'key_missing=nothing',
    'has_value=count',
    'has_value=a',
    'value_missing=empty',
    'value_missing=noFlags',
    'missing_value=missing',
    'created_from=63900000000&created_to=63900000000',
    'modified_from=63900000100&modified_to=63900000100',
    'filter_name=Desk&filter_count=5',
  ])('by %s', (query) => expect(keeps(query)).toBe(true))
})

describe('filters drop the record', () => {
  it.each([
    'filter_name=desk',
    'filter_name=',
    'filter_flags=vip',
    'filter_flags=',
    'filter_flags.length=3',
    `filter_name=${json([])}`,
    'filter_name=[Desk',
    'filter_not_name=Desk',
    'filter_not_missing=',
    `filter_not_name=${json(['Desk'])}`,
    `filter_any_name=${json(['Other'])}`,
    `filter_any_flags=${json(['vip'])}`,
    `filter_none_name=${json(['Desk'])}`,
    `filter_none_flags=${json(['x'])}`,
    `filter_array_intersect_all_flags=${json(['vip', 'x'])}`,
    `filter_array_intersect_any_flags=${json(['x'])}`,
    `filter_array_intersect_any_missing=${json(['x'])}`,
    `filter_array_intersect_none_flags=${json(['vip', 'x'])}`,
    `filter_array_intersect_none_name=${json(['x'])}`,
    'has_key=missing',
    'has_key=nothing',
    'key_missing=name',
    'has_value=empty',
    'has_value=noFlags',
    'value_missing=name',
    'created_from=63900000001',
    'created_to=63899999999',
    'modified_from=63900000101',
    'filter_name=Desk&filter_count=6',
  ])('by %s', (query) => expect(keeps(query)).toBe(false))

  it.each([
    'filter_any_name=Desk',
    'filter_none_name=[1',
    'filter_array_intersect_none_flags={}',
    'filter_array_intersect_all_flags=',
  ])('when %s cannot be evaluated', (query) => expect(keeps(query)).toBe(false))
})

describe('the filters of a query', () => {
  it('is undefined without filters', () => {
    for (const query of [
      '',
      'page_size=2&paginate=false&_=1',
      'filter_=x&has_key=',
      'fields=["a"]',
      'Filter_name=x',
    ]) {
      expect(compileFilters(new URLSearchParams(query))).toBeUndefined()
    }
  })

  it('never looks at private or inherited keys', () => {
    for (const key of [
      'pvt_secret',
      '_rev',
      'deep.pvt_cost',
      '__proto__',
      'constructor',
      'name.length',
      'toString',
    ]) {
      expect(keeps(`has_key=${key}`)).toBe(false)
    }
    expect(keeps('filter_pvt_secret=hidden')).toBe(false)
    expect(keeps('filter___proto__.toString=x')).toBe(false)
  })

  it('keep what has no time of creation or change in every window', () => {
    for (const query of ['created_from=63900000001', 'created_to=1', 'modified_from=63900000101'])
      expect(keeps(query, { name: 'Desk' })).toBe(true)
  })

  it('evaluate any query on any record without failing, and a filter and its opposite split the records', () => {
    const key = fc.constantFrom('a', 'a.b', 'b', '__proto__', 'a..b', 'x')
    const value = fc.oneof(fc.string(), fc.json(), fc.constantFrom('1', 'true', '[1]', '["a"]'))
    const stored = fc.dictionary(fc.constantFrom('a', 'b', 'x', '__proto__'), fc.jsonValue())
    fc.assert(
      fc.property(key, value, stored, (path, wanted, given) => {
        const judge = (name: string, text: string) =>
          compileFilters(new URLSearchParams([[name, text]]))?.(given)
        expect(judge(`filter_${path}`, wanted)).toBe(!judge(`filter_not_${path}`, wanted))
        expect(judge('has_key', path)).toBe(!judge('key_missing', path))
        expect(judge('has_value', path)).toBe(!judge('missing_value', path))
        for (const name of [
          'any',
          'none',
          'array_intersect_all',
          'array_intersect_any',
          'array_intersect_none',
        ]) {
          expect(judge(`filter_${name}_${path}`, wanted)).toBeTypeOf('boolean')
        }
      }),
    )
  })
})

describe('fields', () => {
  const picked = (fields: string, given: Record<string, unknown> = record) =>
    compileFields([['fields', fields]])?.(given)

  it('accepts the three forms', () => {
    const expected = { id: 'r1', name: 'Desk', a: { b: { c: 'value3' } } }
    expect(picked('["name","a.b.c"]')).toEqual(expected)
    expect(picked('{"name":true,"a.b.c":true,"count":false}')).toEqual(expected)
    expect(picked('"name, a.b.c"')).toEqual(expected)
    expect(picked('[]')).toEqual({ id: 'r1' })
  })

  it.each([
    '',
    'name',
    'name,count',
    '5',
    'null',
    'true',
    '[1]',
    '[["a"]]',
    '{"a":1}',
    '{"a":{"b":true}}',
    '["a"',
  ])('refuses %s', (text) => {
    const attempt = () => compileFields([['fields', text]])
    expect(attempt).toThrow(Failure)
    expect(attempt).toThrow(expect.objectContaining({ message: 'faulty_request' }))
  })

  it('leaves out what is missing, private or inherited', () => {
    expect(
      picked(
        '["missing","a.missing","name.x","pvt_secret","_rev","deep.pvt_cost","__proto__","constructor.name","flags.length",""]',
      ),
    ).toEqual({ id: 'r1' })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('prefers the wider of two overlapping paths, in any order, and never changes the record', () => {
    const before = structuredClone(record)
    for (const fields of ['["a","a.b.c"]', '["a.b.c","a"]', '["a.b.c","a.list","a"]']) {
      expect(picked(fields)).toEqual({ id: 'r1', a: record.a })
    }
    expect(picked('["a.b.c","a.list"]')).toEqual({ id: 'r1', a: record.a })
    expect(record).toEqual(before)
  })

  it('is undefined when not asked for', () => {
    expect(compileFields(new URLSearchParams('full_docs=true'))).toBeUndefined()
  })

  it('costs little for absurd paths', () => {
    const path = 'a.'.repeat(20_000)
    expect(picked(JSON.stringify([path, `${path}b`]))).toEqual({ id: 'r1' })
    expect(keeps(`filter_${path}=`)).toBe(true)
  })
})
