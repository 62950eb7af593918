import { createHmac, timingSafeEqual } from 'node:crypto'

// Time-based one-time passwords: RFC 6238 over RFC 4226, with what every authenticator app understands.

const stepSeconds = 30
const digits = 6
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

/** Undefined when the text is no base32. Padding, spaces and letter case do not count: people type secrets. */
export const base32Decode = (text: string): Uint8Array | undefined => {
  const bytes: number[] = []
  let buffer = 0
  let bits = 0
  for (const letter of text.replace(/\s+/g, '').replace(/=+$/, '').toUpperCase()) {
    const value = alphabet.indexOf(letter)
    if (value < 0) return undefined
    buffer = ((buffer << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((buffer >> bits) & 255)
    }
  }
  return Uint8Array.from(bytes)
}

/** RFC 4226: the code of a counter. */
export const hotp = (key: Uint8Array, counter: number): string => {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(counter))
  const digest = createHmac('sha1', key).update(message).digest()
  const offset = digest.readUInt8(19) & 15
  const value = digest.readUInt32BE(offset) & 0x7fffffff
  return String(value % 10 ** digits).padStart(digits, '0')
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

export const otpauthUrl = ({
  key,
  issuer,
  label,
}: {
  key: Uint8Array
  issuer: string
  label: string
}): string => {
  const path = `${encodeURIComponent(issuer)}:${encodeURIComponent(label)}`
  const query = `secret=${base32Encode(key)}&issuer=${encodeURIComponent(issuer)}`
  return `otpauth://totp/${path}?${query}&algorithm=SHA1&digits=${digits}&period=${stepSeconds}`
}
