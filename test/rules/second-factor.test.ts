import { describe, expect, it } from 'vitest'
import {
  appLabel,
  freshStep,
  hotp,
  lockSecondsAfter,
  otpauthUrl,
  plainRecoveryCode,
  recoveryCodeText,
  totpStep,
} from '../../src/areas/accounts/multi-factor/rules.ts'
import { qrPng } from '../../src/http/response/qr-png.ts'

const secret = Buffer.from('12345678901234567890')
const now = 1_767_614_400

describe('guessing the second factor', () => {
  it('is free five times, then waits twice as long each time, at most a day', () => {
    expect([1, 4, 5, 6, 7, 10, 15, 1000].map(lockSecondsAfter)).toEqual([
      0, 0, 60, 120, 240, 1920, 61_440, 86_400,
    ])
  })

  it('takes longer than a year for one chance in a thousand', () => {
    let guesses = 0
    for (let time = 0; time < 365 * 86_400; time += lockSecondsAfter(guesses)) guesses += 1
    expect((guesses * 3) / 1_000_000).toBeLessThan(1.3e-3)
  })
})

it('takes a code of a later step than the last only', () => {
  const step = totpStep(now)
  const code = hotp(secret, step)
  expect(freshStep(secret, code, now, step - 1)).toBe(step)
  expect(freshStep(secret, code, now, step)).toBeUndefined()
  expect(freshStep(secret, code, now, step + 1)).toBeUndefined()
})

it('reads recovery codes as people type them', () => {
  const code = recoveryCodeText(Buffer.alloc(10, 7))
  expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
  expect(plainRecoveryCode(` ${code.toLowerCase().replaceAll('-', ' ')}`)).toBe(code.replaceAll('-', ''))
})

it('fits into a QR code whatever the account is called', () => {
  const names = appLabel('💡'.repeat(128), '%'.repeat(256))
  const url = otpauthUrl({ key: secret, ...names })
  expect(qrPng(url).length).toBeGreaterThan(1000)
  expect(new URL(url).searchParams.get('issuer')).toBe('💡'.repeat(40))
})
