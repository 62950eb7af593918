import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { multipartFields, urlEncodedFields } from '../../src/http/transport/form-body.ts'
import { Failure } from '../../src/lib/failure.ts'

const most = 1000

const signs = fc.constantFrom('&', '=', '+', '%', '%20', '%C3', '%A9', '%zz', '%F0%9F%A6%84', '?', ' ')
// Browsers send only ASCII.
const texts = fc.array(fc.oneof(signs, fc.string({ unit: 'binary-ascii' }))).map((parts) => parts.join(''))

describe('the fields of a form', () => {
  it('are those that a browser reads, or are rejected if their bytes are not UTF-8', () => {
    fc.assert(
      fc.property(texts, (text) => {
        // Only browsers skip a question mark in front, because they take the text for a whole query.
        fc.pre(!text.startsWith('?'))
        const fields = () => urlEncodedFields(Buffer.from(text), most)
        const read = [...new URLSearchParams(text)]
        if (read.flat().join('').includes('\ufffd')) expect(fields).toThrow(Failure)
        else expect(fields()).toEqual(read)
      }),
      { numRuns: 1000 },
    )
  })

  const boundary = '----edge42'
  const contentType = `multipart/form-data; boundary=${boundary}`
  const names = fc.stringMatching(/^[a-z_ .]{1,12}$/)
  // What a line of a boundary may be mistaken for, but for the boundary itself.
  const bytes = fc
    .array(fc.constantFrom('\r\n', '--', '----edge4', '\r', '\n', 'a', '\0', 'é', ':', ''))
    .map((parts) => parts.join(''))
  const fields = fc.array(fc.record({ name: names, text: bytes, fileName: fc.option(names) }), {
    maxLength: 8,
  })

  it('of several parts are what was put into them', () => {
    fc.assert(
      fc.property(fields, (given) => {
        const parts = given.map(({ name, text, fileName }) => {
          const file = fileName === null ? '' : `; filename="${fileName}"\r\ncontent-type: text/csv`
          return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`
        })
        const read = multipartFields(Buffer.from(`${parts.join('')}--${boundary}--\r\n`), contentType, most)
        expect(read.map(({ bytes, ...rest }) => ({ ...rest, text: bytes.toString() }))).toEqual(
          given.map(({ name, text, fileName }) => ({
            name,
            text,
            fileName: fileName ?? undefined,
            contentType: fileName === null ? 'text/plain' : 'text/csv',
          })),
        )
      }),
    )
  })

  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n'

  it.each([
    ['without a boundary in their type', 'multipart/form-data', `${part}--x--`],
    ['without their boundary in front', 'multipart/form-data; boundary=y', `${part}--x--`],
    ['without their last boundary', 'multipart/form-data; boundary=x', part],
    ['with text behind a boundary', 'multipart/form-data; boundary=x', `${part}--xy\r\n`],
    ['without a name', 'multipart/form-data; boundary=x', '--x\r\ncontent-type: a/b\r\n\r\nc\r\n--x--'],
    ['with a head that never ends', 'multipart/form-data; boundary=x', `--x\r\n${'a: b\r\n'.repeat(5000)}`],
  ])('of several parts are refused %s', (_what, type, text) => {
    expect(() => multipartFields(Buffer.from(text), type, most)).toThrow(Failure)
  })
})
