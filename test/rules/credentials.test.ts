// Test worlds derive keys quickly. All other callers derive them at this cost.
import { expect, it } from 'vitest'
import { derive, digestOf, hashingOfDigest, renewal } from '../../src/auth/credentials.ts'
import { quickLayers } from '../support/world/world.ts'

const salt = '000102030405060708090a0b0c0d0e0f'

// Calculated by another program: scrypt of 2^14 and 2^15 rounds, one over the other.
const known = {
  md5: ['md5:HWl-2pt7iCfLGmB6mctDLfWiK9zFy9ni', '2:md5:1BjcFeC8B5mGHsGM28gYY5js-l5Tapa8'],
  sha: ['sha:3OEZ_ilCLIoYB8pxGwl4eG12vgh9CrXh', '2:sha:my6NT8gRH8L6I8xQm_YQmp6CEEOWKYRl'],
} as const

it.each(['md5', 'sha'] as const)('a key of %s is the same in every version, layer by layer', (method) => {
  const digest = digestOf(method, 'Ada', 'ada-secret')
  expect(derive(hashingOfDigest(salt, method, digest))).toEqual(known[method])
  expect(derive(renewal(salt, known[method][0]))).toEqual([known[method][1]])
  expect(derive(renewal(salt, known[method][1]))).toEqual([])
})

it('a quick key has the layers of another one, and is none', () => {
  const digest = digestOf('md5', 'Ada', 'ada-secret')
  const quick = derive(hashingOfDigest(salt, 'md5', digest), quickLayers)
  expect(quick).toEqual([
    expect.stringMatching(/^md5:[\w-]{32}$/),
    expect.stringMatching(/^2:md5:[\w-]{32}$/),
  ])
  expect(quick).not.toEqual(known.md5)
})
