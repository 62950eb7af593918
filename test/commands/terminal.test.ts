// The output of a file from the server to a terminal.
import { describe, expect, it } from 'vitest'
import { printableText } from '../../cli/terminal.ts'

/** Sends so many bytes at a time. */
async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const shown = async (bytes: Uint8Array, size: number) => {
  let text = ''
  for await (const part of printableText(inPieces(bytes, size))) text += part
  return text
}

describe.each([1, 2, 3, 1000])('a file that comes %i bytes at a time', (size) => {
  const encoded = (text: string) => new TextEncoder().encode(text)

  it('keeps its lines, tabs and letters', async () => {
    const text = 'name,number\r\n"Zoë 長",+1\t2\n\r\nشركة 🔑\r\n'
    expect(await shown(encoded(text), size)).toBe(text)
  })

  it('holds nothing that a terminal would obey', async () => {
    const text = 'a\u001b[2Jb\u009bc\u202ed\re\u0007\r\r\nf\r'
    expect(await shown(encoded(text), size)).toBe('a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffd\ufffd\r\nf\ufffd')
  })

  it.each([
    ['a picture', new Uint8Array([0x89, 0x50, 0x4e, 0x47])],
    ['zeros', encoded('a\0b')],
    ['half a letter', encoded('é').subarray(0, 1)],
  ])('is refused when it is no text but %s', async (_what, bytes) => {
    await expect(shown(bytes, size)).rejects.toThrow('redirect it to a file, with > FILE')
  })
})
