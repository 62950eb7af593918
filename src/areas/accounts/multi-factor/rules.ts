import { createHmac, timingSafeEqual } from 'node:crypto'

// Time-based one-time passwords: RFC 6238 over RFC 4226, with what every authenticator app understands.

const stepSeconds = 30
const codeDigits = 6
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export const base32Encode = (bytes: Uint8Array): string => {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(buffer >> (bits - 5)) & 31]
  }
  return bits > 0 ? text + alphabet[(buffer << (5 - bits)) & 31] : text
}

/** RFC 4226: the code of a counter. */
export const hotp = (key: Uint8Array, counter: number): string => {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(counter))
  const digest = createHmac('sha1', key).update(message).digest()
  const offset = digest.readUInt8(19) & 15
  const value = digest.readUInt32BE(offset) & 0x7fffffff
  return String(value % 10 ** codeDigits).padStart(codeDigits, '0')
}

export const totpStep = (unixSeconds: number) => Math.floor(unixSeconds / stepSeconds)

const areEqual = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** The time step of a code (now, one before or after). Callers must reject a step that is not later than the last one. */
export const matchTotp = (key: Uint8Array, code: string, unixSeconds: number): number | undefined => {
  if (!/^\d{6}$/.test(code)) return undefined
  const now = totpStep(unixSeconds)
  // All three are computed and compared, whichever fits.
  return [now - 1, now, now + 1].filter((step) => step >= 0 && areEqual(hotp(key, step), code)).at(-1)
}

export const otpauthUrl = ({ key, issuer, label }: { key: Uint8Array; issuer: string; label: string }) => {
  const path = `${encodeURIComponent(issuer)}:${encodeURIComponent(label)}`
  const query = `secret=${base32Encode(key)}&issuer=${encodeURIComponent(issuer)}`
  return `otpauth://totp/${path}?${query}&algorithm=SHA1&digits=${codeDigits}&period=${stepSeconds}`
}

export interface FactorHidden {
  sealedSecret: string
  /** The last time step whose code was taken: no code works twice. */
  lastStep: number
  /** Derived recovery codes that are still good. */
  recoveryCodes: readonly string[]
  failures: number
  /** Unix seconds until which no code is looked at. */
  blockedUntil: number
}

export const recoveryCodeCount = 10
/** 80 bits: so many that a plain digest of the code gives nothing away. */
export const recoveryCodeBytes = 10

/** A recovery code as people read it: `ABCD-EFGH-JKLM-NPQR`. */
export const recoveryCodeText = (bytes: Uint8Array) => (base32Encode(bytes).match(/.{4}/g) ?? []).join('-')

/** Letter case, dashes and spaces do not count. */
export const plainRecoveryCode = (text: string) => text.replace(/[\s-]/g, '').toUpperCase()

const freeFailures = 5
const firstPauseSeconds = 60
const longestPauseSeconds = 86_400

/** Seconds without checks after wrong codes in a row. Guessing six digits takes years at this rate. */
export const lockSecondsAfter = (failures: number) => {
  if (failures < freeFailures) return 0
  return Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** (failures - freeFailures))
}

/** The time step that a code stands for, unless it or a later one was taken before. */
export const freshStep = (secret: Uint8Array, code: string, unixSeconds: number, lastStep: number) => {
  const step = matchTotp(secret, code, unixSeconds)
  return step !== undefined && step > lastStep ? step : undefined
}

/** Before the first code: any code of now is later. */
export const neverUsed = (unixSeconds: number) => totpStep(unixSeconds) - 2

export const afterFailure = (hidden: FactorHidden, unixSeconds: number): FactorHidden => {
  const failures = hidden.failures + 1
  const pause = lockSecondsAfter(failures)
  // Without a pause not even the rest of this second is waited for.
  return { ...hidden, failures, blockedUntil: pause === 0 ? 0 : Math.ceil(unixSeconds) + pause }
}

export const afterSuccess = (hidden: FactorHidden, change: Partial<FactorHidden>): FactorHidden => ({
  ...hidden,
  failures: 0,
  blockedUntil: 0,
  ...change,
})

// A QR code has at most about 2,300 bytes, and one percent-encoded character can need twelve.
const shortened = (text: string, most: number) => [...text].slice(0, most).join('')

export const appLabel = (accountName: string, username: string | undefined) => ({
  issuer: shortened(accountName, 40).replaceAll(':', ' '),
  label: shortened(username ?? 'user', 60).replaceAll(':', ' '),
})
