const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The bytes of a base32 text, as authenticator apps read it; undefined if it is none. Ignores padding, spaces and case. */
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
