import { describe, expect, it } from 'vitest'
import { caught, whenThere } from '../../src/lib/soon.ts'

describe('A value that is at hand', () => {
  it('is gone on with at once', () => {
    expect(whenThere(1, (value) => value + 1)).toBe(2)
  })

  it('is waited for where it is not', async () => {
    const later = whenThere(Promise.resolve(1), (value) => value + 1)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(2)
  })

  it('may be followed by one that is not', async () => {
    expect(await whenThere(1, (value) => Promise.resolve(value + 1))).toBe(2)
  })

  it('fails as what goes on with it fails', async () => {
    const fail = () => {
      throw new Error('no')
    }
    expect(() => whenThere(1, fail)).toThrow('no')
    await expect(whenThere(Promise.resolve(1), fail)).rejects.toThrow('no')
  })
})

describe('A failure', () => {
  const recover = (error: unknown) => `recovered from ${error}`

  it('is caught where it happens at once, and where it comes later', async () => {
    expect(
      caught(() => {
        throw 'this'
      }, recover),
    ).toBe('recovered from this')
    expect(await caught<string>(() => Promise.reject('that'), recover)).toBe('recovered from that')
  })

  it('is nothing that a value needs', async () => {
    expect(caught(() => 'this', recover)).toBe('this')
    expect(await caught(() => Promise.resolve('that'), recover)).toBe('that')
  })

  it('may be another one afterwards', async () => {
    const again = (error: unknown) => {
      throw new Error(`${error} again`)
    }
    await expect(caught(() => Promise.reject('this'), again)).rejects.toThrow('this again')
    expect(() =>
      caught(() => {
        throw 'this'
      }, again),
    ).toThrow('this again')
  })
})
