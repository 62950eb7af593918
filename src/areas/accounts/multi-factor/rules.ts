import { base32Encode, matchTotp, totpStep } from './totp.ts'

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
export const pauseAfter = (failures: number) => {
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
  const pause = pauseAfter(failures)
  // Without a pause not even the rest of this second is waited for.
  return { ...hidden, failures, blockedUntil: pause === 0 ? 0 : Math.ceil(unixSeconds) + pause }
}

export const afterSuccess = (hidden: FactorHidden, change: Partial<FactorHidden>): FactorHidden => ({
  ...hidden,
  failures: 0,
  blockedUntil: 0,
  ...change,
})

// A QR code holds some 2,300 bytes, and a percent-encoded letter may take twelve.
const shortened = (text: string, most: number) => [...text].slice(0, most).join('')

export const appLabel = (accountName: string, username: string | undefined) => ({
  issuer: shortened(accountName, 40).replaceAll(':', ' '),
  label: shortened(username ?? 'user', 60).replaceAll(':', ' '),
})
