import { isUtf8 } from 'node:buffer'

/** Node reads headers as ISO 8859-1, but clients send file names in UTF-8. */
export const headerText = (value: string) => {
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

const extendedValue = (name: string) =>
  encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** `Content-Disposition` for a file. A name beyond ASCII is also sent in `filename*` (RFC 6266). */
export const attachment = (name: string) => {
  const plain = name.replace(/[^\x20-\x7e]/gu, '_')
  const extended = plain === name ? '' : `; filename*=UTF-8''${extendedValue(name)}`
  return { 'content-disposition': `attachment; filename="${plain}"${extended}` }
}

const extendedName = /filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i
const plainName = /filename\s*=\s*"?([^";]+)"?/i

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export const uploadName = (disposition: string): string | undefined => {
  const extended = extendedName.exec(disposition)?.[1]
  const plain = plainName.exec(disposition)?.[1]
  return (extended && decoded(extended)) || (plain && headerText(plain))
}
