// Types by the first bytes, not by the client's claim. No SVG: it may contain scripts.

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0) =>
  signature.every((byte, index) => bytes[at + index] === byte)

const ascii = (text: string) => [...text].map((letter) => letter.charCodeAt(0))

const signatures: readonly (readonly [string, (bytes: Uint8Array) => boolean])[] = [
  ['image/png', (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/jpeg', (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff])],
  ['image/gif', (bytes) => startsWith(bytes, ascii('GIF87a')) || startsWith(bytes, ascii('GIF89a'))],
  ['image/webp', (bytes) => startsWith(bytes, ascii('RIFF')) && startsWith(bytes, ascii('WEBP'), 8)],
]

export const imageTypes = signatures.map(([type]) => type)

/** Undefined: none of `imageTypes`. */
export const imageTypeOf = (bytes: Uint8Array): string | undefined =>
  signatures.find(([, matches]) => matches(bytes))?.[0]

export const iconTypes = ['image/x-icon', 'image/vnd.microsoft.icon'] as const

/** With at least one picture. */
export const isIcon = (bytes: Uint8Array) =>
  startsWith(bytes, [0, 0, 1, 0]) && ((bytes[4] ?? 0) > 0 || (bytes[5] ?? 0) > 0)
