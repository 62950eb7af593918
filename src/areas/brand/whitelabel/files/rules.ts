import { failure, invalid, tooLarge, unsupportedMediaType } from '../../../../lib/failure.ts'
import { bareFileName } from '../../../../lib/file-name.ts'
import { imageTypeOf, isIcon } from '../../../../lib/image-type.ts'

export const fileKinds = ['logo', 'icon', 'welcome'] as const
export type FileKind = (typeof fileKinds)[number]

const images = ['image/png', 'image/jpeg', 'image/jpg', 'image/gif']
const encoded = ['application/base64', 'application/x-base64']
const icons = ['image/x-icon', 'image/vnd.microsoft.icon', 'image/ico', 'image/icon']

export const uploadTypes: Readonly<Record<FileKind, readonly string[]>> = {
  logo: [...images, ...encoded],
  icon: [...images, ...encoded, ...icons],
  welcome: ['text/html'],
}

/** Stored and served types. */
export const servedTypes: Readonly<Record<FileKind, readonly string[]>> = {
  logo: ['image/png', 'image/jpeg', 'image/gif'],
  icon: ['image/png', 'image/jpeg', 'image/gif', 'image/x-icon', 'image/vnd.microsoft.icon'],
  welcome: ['text/html'],
}

// Files are read as a whole, and are public.
const largestFile = 8_000_000

const sameTypes: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/ico': 'image/x-icon',
  'image/icon': 'image/x-icon',
  'image/vnd.microsoft.icon': 'image/x-icon',
}

const plainType = (type: string) => sameTypes[type] ?? type

interface SentFile {
  contentType: string
  charset?: string
  bytes: Buffer
}

const foundType = (bytes: Buffer) => imageTypeOf(bytes) ?? (isIcon(bytes) ? 'image/x-icon' : undefined)

const imageType = (kind: FileKind, { contentType, bytes }: SentFile) => {
  const found = foundType(bytes)
  const says = contentType.startsWith('image/')
  const message = 'The file content does not match its type'
  if (!found || (says && plainType(contentType) !== found))
    throw invalid({ file: { invalid: { message, cause: contentType } } })
  if (!servedTypes[kind].includes(found)) throw failure(unsupportedMediaType, { accepted: uploadTypes[kind] })
  return contentType === 'image/vnd.microsoft.icon' ? contentType : found
}

/** Images must have the type of their content. */
export const typeToKeep = (kind: FileKind, sent: SentFile): string => {
  if (sent.bytes.length > largestFile) throw failure(tooLarge, { limit: largestFile })
  if (kind !== 'welcome') return imageType(kind, sent)
  return sent.charset === undefined ? 'text/html' : `text/html; charset=${sent.charset}`
}

/** Undefined: not of this kind. */
export const arrivingType = (kind: FileKind, bytes: Buffer): string | undefined => {
  if (bytes.length > largestFile) return undefined
  if (kind === 'welcome') return 'text/html'
  const found = foundType(bytes)
  return found !== undefined && servedTypes[kind].includes(found) ? found : undefined
}

export const isFileKind = (text: string): text is FileKind => fileKinds.some((kind) => kind === text)

const fileExtensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/x-icon': 'ico',
  'image/vnd.microsoft.icon': 'ico',
  'text/html': 'html',
}

/** `logo-NAME.png`, without characters that break headers or file systems. */
export const nameToKeep = (kind: FileKind, given: string, contentType: string) => {
  const base = bareFileName(given).replace(/\.[A-Za-z0-9]{1,5}$/, '')
  const safe = base.replace(/[. ]/g, '_').slice(0, 100).toWellFormed()
  const [bareType = ''] = contentType.split(';', 1)
  return `${kind}-${safe || 'file'}.${fileExtensions[bareType] ?? 'bin'}`
}
