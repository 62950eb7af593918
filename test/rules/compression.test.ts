import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  closed,
  codingFor,
  codings,
  compressed,
  compressedPieces,
  type Piece,
  pack,
} from '../../src/http/transport/compression.ts'

const opened = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync } as const

const someBytes = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }),
  fc
    .tuple(fc.string({ maxLength: 40 }), fc.nat(8000))
    .map(([text, times]) => Buffer.from(text.repeat(times))),
)
const someEnding = fc.oneof(
  fc.constant(new Uint8Array()),
  fc.uint8Array({ maxLength: 2000 }),
  fc.constantFrom(1, 255, 256, 65_534, 65_535).map((length) => Buffer.alloc(length, 'e')),
)

async function* piecesOf(bodies: readonly Uint8Array[], ending: Uint8Array): AsyncGenerator<Piece> {
  for (const bytes of bodies) yield { bytes, isEnding: false }
  if (ending.length > 0) yield { bytes: ending, isEnding: true }
}

describe.each(codings)('bytes in %s', (coding) => {
  it('decompress to the same bytes, with the ending that follows them', async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, someEnding, async (body, ending) => {
        const packed = await compressed(coding, body, ending)
        expect(opened[coding](packed).equals(Buffer.concat([body, ending]))).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('are compressed once for every ending', async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, fc.array(someEnding, { maxLength: 4 }), async (body, endings) => {
        const packed = await pack(coding, body)
        for (const ending of endings)
          expect(
            opened[coding](Buffer.concat(closed(packed, ending))).equals(Buffer.concat([body, ending])),
          ).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('are the same when they come in pieces, of which each is its own until it is taken', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someBytes, { maxLength: 6 }), someEnding, async (bodies, ending) => {
        async function* fleeting(): AsyncGenerator<Piece> {
          for await (const { bytes, isEnding } of piecesOf(bodies, ending)) {
            const own = Buffer.from(bytes)
            yield { bytes: own, isEnding }
            if (!isEnding) own.fill(0)
          }
        }
        const packed = await buffer(compressedPieces(coding, fleeting()))
        expect(opened[coding](packed).equals(Buffer.concat([...bodies, ending]))).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('have the same length with every ending, although they repeat it', async () => {
    const secret = 'eyJhbGciOiJIUzI1NiJ9.c2VjcmV0'
    const ending = Buffer.from(`${secret}"}`)
    const lengthBeside = async (guess: string) =>
      (await compressed(coding, Buffer.from(`{"data":"${guess}","auth_token":"`), ending)).length
    const lengthAlone = async (guess: string) =>
      (
        await compressed(
          coding,
          Buffer.from(`{"data":"${guess}","auth_token":"`),
          Buffer.alloc(ending.length),
        )
      ).length
    for (const guess of [secret, secret.slice(0, 20), 'x'.repeat(secret.length)])
      expect(await lengthBeside(guess)).toBe(await lengthAlone(guess))
  })

  it('are released when the reader stops', async () => {
    let isLeft = false
    async function* endless(): AsyncGenerator<Piece> {
      try {
        for (;;) yield { bytes: Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))), isEnding: false }
      } finally {
        isLeft = true
      }
    }
    const pieces = compressedPieces(coding, endless())
    for await (const _ of pieces) break
    expect(isLeft).toBe(true)
  })

  it('are made no faster than they are taken', async () => {
    let asked = 0
    async function* endless(): AsyncGenerator<Piece> {
      for (;;) {
        asked += 1
        yield { bytes: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))), isEnding: false }
      }
    }
    const pieces = compressedPieces(coding, endless())
    for (let taken = 0; taken < 20; ) {
      const { value } = await pieces.next()
      taken += 1
      // What a coder keeps back for its next block.
      expect(asked * 60_000).toBeLessThan(taken * 65_536 + 600_000)
      expect(value?.length).toBeLessThan(200_000)
    }
    await pieces.return(undefined)
  })

  it('fail as what they are made of does', async () => {
    async function* broken(): AsyncGenerator<Piece> {
      yield { bytes: Buffer.from('a'), isEnding: false }
      throw new Error('the store is gone')
    }
    await expect(buffer(compressedPieces(coding, broken()))).rejects.toThrow('the store is gone')
  })
})

describe('the coding of an answer', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZip ; Q=0.5', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.9, zstd;q=0', 'gzip'],
    ['br;q=0, *', 'zstd'],
    ['*;q=0, gzip', 'gzip'],
    ['*;q=0', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=0.1234, br;q=x', undefined],
    ['deflate, compress, nonsense', undefined],
    [';;;,,, =, gzip', 'gzip'],
  ])('for %j is %j', (header, coding) => {
    expect(codingFor(header, codings)?.coding).toBe(coding)
  })

  it('has to be one where the client says so', () => {
    expect(codingFor('gzip, identity;q=0', codings)).toEqual({ coding: 'gzip', isRequired: true })
    expect(codingFor('gzip, *;q=0', codings)).toEqual({ coding: 'gzip', isRequired: true })
    expect(codingFor('gzip, *', codings)).toEqual({ coding: 'zstd', isRequired: false })
    expect(codingFor('identity;q=0', codings)).toBeUndefined()
  })

  it('is looked for among the first of many', () => {
    expect(codingFor(`${'a,'.repeat(31)}gzip`, codings)?.coding).toBe('gzip')
    expect(codingFor(`${'a,'.repeat(32)}gzip`, codings)).toBeUndefined()
  })
})
