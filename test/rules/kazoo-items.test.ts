import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDocument } from '../../import-kazoo/source/documents.ts'
import { formOf } from '../../import-kazoo/source/dumps/dump-file.ts'
import { createLatestPlaces } from '../../import-kazoo/source/dumps/file-dump.ts'
import { createItemScanner, type Item } from '../../import-kazoo/source/items.ts'

const key = fc.oneof(
  fc.constantFrom('doc', 'docs', 'rows', 'id', '_rev', 'a"b', '\\', 'é', '📞', '{', ']'),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
)
const { value: jsonValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(5, -1.5, 0, null, true, '\\"', '},{', '📞\u2028', ']}'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3 }),
  ),
}))
const fields = fc.dictionary(
  key.filter((name) => name !== '__proto__'),
  jsonValue,
  { maxKeys: 4 },
)
const space = fc.constantFrom('', ' ', '\n', '\r\n\t')
// JSON as written by hand, by Erlang and by JavaScript.
const documentText = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), fields, fc.constantFrom(0, 1, 2))
  .map(([id, rest, indent]) => JSON.stringify({ _id: id, ...rest, exact: 'here' }, null, indent))
  .map((text) => text.replace('"here"', '5.0'))
const documentTexts = fc.array(documentText, { maxLength: 6 })
const pieceBytes = fc.integer({ min: 1, max: 40 })

const scan = (text: string, size: number, shape: Parameters<typeof createItemScanner>[0]) => {
  const scanner = createItemScanner(shape)
  const bytes = Buffer.from(text)
  const items: Item[] = []
  for (let at = 0; at < bytes.length; at += size) items.push(...scanner.push(bytes.subarray(at, at + size)))
  return { items, frame: scanner.end() }
}

const rowOf = (doc: string, between: string) =>
  `{"id":"x","key":{"doc":[1]},"value":{"doc":"no"},${between}"doc"${between}:${between}${doc}${between},"last":"}"}`

const forms: Record<
  string,
  { shape: Parameters<typeof createItemScanner>[0]; write(docs: readonly string[], between: string): string }
> = {
  'an object with a list of documents': {
    shape: { place: 'within', areRows: false },
    write: (docs, between) => `{"new_edits":false,${between}"docs":[${between}${docs.join(`,${between}`)}]}`,
  },
  'an answer with rows': {
    shape: { place: 'within', areRows: true },
    write: (docs, between) =>
      `{"total_rows":7,"offset":{"rows":[]},"rows":[${docs.map((doc) => rowOf(doc, between)).join(',\r\n')}${between}],"last_seq":[3,"a]"]}`,
  },
  'lines of lists': {
    shape: { place: 'listed', areRows: false },
    write: (docs, between) => docs.map((doc) => `[${doc}${between}]\n`).join(''),
  },
  'a list with unreliable commas': {
    shape: { place: 'listed', areRows: true },
    write: (docs, between) =>
      `\ufeff[${docs.map((doc, at) => rowOf(doc, between) + (at % 2 ? ',,' : '')).join(between)}]`,
  },
  lines: {
    shape: { place: 'listed', areRows: false },
    write: (docs) => docs.map((doc) => `${doc}\n`).join(''),
  },
}

describe.each(Object.entries(forms))('Documents in %s', (_name, { shape, write }) => {
  it('come back word for word, wherever pieces end', () => {
    fc.assert(
      fc.property(documentTexts, space, pieceBytes, (docs, between, size) => {
        const { items, frame } = scan(write(docs, between), size, shape)
        expect(items.map((item) => item.doc ?? item.text)).toEqual(docs)
        expect(frame.isHalf).toBe(false)
        if (shape.place === 'within') expect(frame.isWhole).toBe(true)
      }),
    )
  })

  it('are found again from the place behind any of them', () => {
    fc.assert(
      fc.property(documentTexts, space, pieceBytes, (docs, between, size) => {
        const text = write(docs, between)
        const { items } = scan(text, 64, shape)
        for (const [at, { end }] of items.entries()) {
          const rest = Buffer.from(text).subarray(end).toString('utf8')
          const again = scan(rest, size, { ...shape, place: 'listed', offset: end })
          expect(again.items).toEqual(items.slice(at + 1))
        }
      }),
      { numRuns: 30 },
    )
  })

  it.runIf(shape.place === 'within')('that are cut anywhere are known to be', () => {
    fc.assert(
      fc.property(documentTexts, fc.double({ min: 0, max: 1, noNaN: true }), (docs, part) => {
        const whole = write(docs, '')
        const { frame } = scan(whole.slice(0, Math.floor(part * (whole.length - 1))), 1000, shape)
        expect(frame.isWhole).toBe(false)
      }),
    )
  })
})

it('the text around rows is returned without them', () => {
  const { frame } = scan('{"results":[{"a":1},{"b":2}],"last_seq":"5-x","pending":0}', 7, {
    place: 'within',
    areRows: true,
  })
  expect(frame).toEqual({ text: '{"results":[],"last_seq":"5-x","pending":0}', isWhole: true, isHalf: false })
})

it('an item that is too large is reported without its document, and the next one is read', () => {
  const large = `{"id":"large","doc":{"_id":"large","text":"${'x'.repeat(300_000)}"}}`
  const { items } = scan(`[${large},{"id":"b","doc":{"_id":"b"}}]`, 10_000, {
    place: 'listed',
    areRows: true,
    mostBytes: 100_000,
  })
  expect(items.map(({ isTooLarge, doc, start, end }) => ({ isTooLarge, doc, bytes: end - start }))).toEqual([
    { isTooLarge: true, doc: undefined, bytes: large.length },
    { isTooLarge: false, doc: '{"_id":"b"}', bytes: 28 },
  ])
})

it('a document is read without the members that only answers have, and its other text stays the same', () => {
  fc.assert(
    fc.property(documentText, (text) => {
      const asked = text
        .trimEnd()
        .replace(/\}$/, ',"_conflicts":["2-b"],"_revisions":{"start":1,"ids":["a"]}}')
      const plain = readDocument(text)
      const found = readDocument(asked)
      expect(found?.document.conflicts).toEqual(['2-b'])
      expect(found?.document.fields).toEqual(plain?.document.fields)
      expect(JSON.parse(found?.document.text ?? '')).toEqual(plain?.document.fields)
      expect(found?.document.text).toContain('5.0')
    }),
  )
})

it('files whose bytes are in a document become the stubs that CouchDB returns', () => {
  const inline =
    '{"_id":"a","exact":5.0,"_attachments":{"t":{"content_type":"text/plain","revpos":2,"data":"aGVsbG8="}},"z":1}'
  expect(readDocument(inline)?.document.text).toBe(
    '{"_id":"a","exact":5.0,"_attachments":{"t":{"content_type":"text/plain","revpos":2,"digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","length":5,"stub":true}},"z":1}',
  )
})

it.each(['', '[]', '5', '{"a":1}', '{"_id":5}', '{"_id":"a"'])('%j is no document', (text) => {
  expect(readDocument(text)).toBeUndefined()
})

it('forms of dumps are known by how they begin', () => {
  const within = { place: 'within', hasDatabases: false }
  const listed = { place: 'listed', hasDatabases: false }
  expect(formOf('{"new_edits":false,"docs":[')).toEqual({ ...within, areRows: false })
  expect(formOf('{ "docs": [')).toEqual({ ...within, areRows: false })
  expect(formOf('{"total_rows":3,"offset":0,"rows":[')).toEqual({ ...within, areRows: true })
  expect(formOf('{"name":"@cloudant/couchbackup"')).toEqual({ ...listed, areRows: false })
  expect(formOf('[{"_id":"a"')).toEqual({ ...listed, areRows: false })
  expect(formOf('[\n{"id":"a","key":"a"')).toEqual({ ...listed, areRows: true })
  expect(formOf('\ufeff{"db":"a","doc":{')).toEqual({ place: 'listed', areRows: true, hasDatabases: true })
  expect(formOf('# notes')).toBeUndefined()
  expect(formOf('{"version":2}')).toBeUndefined()
})

it('the last place of each of many ids is remembered', () => {
  const remember = createLatestPlaces()
  const known = new Map<string, number>()
  for (let place = 1; place <= 20_000; place += 1) {
    const id = `id ${(place * 7919) % 9000}`
    expect(remember(id, place)).toBe(known.get(id))
    known.set(id, place)
  }
})
