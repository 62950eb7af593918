import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { messageOf } from '../../lib/error-facts.ts'
import { joinProblems, type Problems, requiredField } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import type { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'

export interface Credentials {
  cert: string
  key: string
  ca?: string
  passphrase?: string
  /** The digest of the content. */
  digest: string
}

export type TlsSettings = Pick<
  SettingsOf<typeof crossbarSettings>,
  'use_ssl' | 'ssl_port' | 'ssl_cert' | 'ssl_key' | 'ssl_ca_cert' | 'ssl_password'
>

const fileKeys = ['ssl_cert', 'ssl_key', 'ssl_ca_cert'] as const
type FileKey = (typeof fileKeys)[number]

interface TlsFiles extends Readonly<Partial<Record<FileKey | 'ssl_password', string | undefined>>> {
  use_ssl: boolean
}

type Inspection = { credentials: Credentials; problems?: never } | { credentials?: never; problems: Problems }

// Bytes. A certificate chain has a few kilobytes.
const largestFile = 1_000_000

class FileRefusal extends Error {
  readonly rule: 'not_found' | 'invalid'

  constructor(rule: 'not_found' | 'invalid', message: string) {
    super(message)
    this.rule = rule
  }
}

/** A relative path may also be in the data directory. */
const placesOf = (path: string, dataDir: string) =>
  isAbsolute(path) ? [path] : [resolve(path), join(resolve(dataDir), path)]

const statOf = async (path: string, dataDir: string) => {
  for (const place of placesOf(path, dataDir)) {
    try {
      return { place, stats: await stat(place) }
    } catch {
      // It may be in the next place.
    }
  }
  return undefined
}

const readPem = async (path: string, dataDir: string) => {
  const found = await statOf(path, dataDir)
  if (!found) throw new FileRefusal('not_found', 'There is no such file, or it cannot be read')
  if (!found.stats.isFile()) throw new FileRefusal('invalid', 'This is not a file')
  if (found.stats.size > largestFile) throw new FileRefusal('invalid', 'The file is too large')
  try {
    return await readFile(found.place, 'utf8')
  } catch {
    throw new FileRefusal('not_found', 'There is no such file, or it cannot be read')
  }
}

const parseCertificate = (pem: string) => {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new FileRefusal('invalid', 'The file does not contain a PEM certificate')
  }
}

const parseKey = (pem: string, passphrase: string | undefined): KeyObject => {
  try {
    // Without a passphrase OpenSSL would prompt for it.
    return createPrivateKey({ key: pem, passphrase: passphrase ?? '' })
  } catch {
    const isLocked = pem.includes('ENCRYPTED')
    throw new FileRefusal(
      'invalid',
      isLocked
        ? 'ssl_password does not open this private key'
        : 'The file does not contain a PEM private key',
    )
  }
}

const parse = (key: FileKey, pem: string, settings: TlsFiles) =>
  key === 'ssl_key' ? parseKey(pem, settings.ssl_password) : parseCertificate(pem)

interface Files {
  texts: Partial<Record<FileKey, string>>
  parsed: Partial<Record<FileKey, X509Certificate | KeyObject>>
  problems: Problems
}

const readFiles = async (settings: TlsFiles, dataDir: string): Promise<Files> => {
  const files: Files = { texts: {}, parsed: {}, problems: {} }
  for (const key of fileKeys) {
    const path = settings[key]
    if (path === undefined) continue
    try {
      const text = await readPem(path, dataDir)
      files.texts[key] = text
      files.parsed[key] = parse(key, text, settings)
    } catch (error) {
      if (!(error instanceof FileRefusal)) throw error
      files.problems[key] = { [error.rule]: { message: error.message, cause: path } }
    }
  }
  return files
}

const missing = (settings: TlsFiles): Problems => {
  if (!settings.use_ssl) return {}
  const keys = (['ssl_cert', 'ssl_key'] as const).filter((key) => settings[key] === undefined)
  return joinProblems(...keys.map((key) => requiredField(key)))
}

const mismatch = ({ parsed }: Files, settings: TlsFiles): Problems => {
  const { ssl_cert: certificate, ssl_key: key } = parsed
  if (!certificate || !key) return {}
  if ((certificate as X509Certificate).checkPrivateKey(key as KeyObject)) return {}
  return {
    ssl_key: { invalid: { message: 'The private key does not belong to ssl_cert', cause: settings.ssl_key } },
  }
}

/** OpenSSL also rejects weak keys and broken chains. */
const refusedByOpenssl = (credentials: Credentials, settings: TlsFiles): Problems => {
  try {
    createSecureContext(credentials)
    return {}
  } catch (error) {
    const message = `TLS cannot use this certificate: ${messageOf(error).slice(0, 200)}`
    return { ssl_cert: { invalid: { message, cause: settings.ssl_cert } } }
  }
}

const digestOf = (...texts: (string | undefined)[]) =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex')

/** Returns what a listener needs, or all problems. */
export const inspectTls = async (settings: TlsFiles, dataDir: string): Promise<Inspection> => {
  const files = await readFiles(settings, dataDir)
  const problems = { ...missing(settings), ...files.problems, ...mismatch(files, settings) }
  const { ssl_cert: cert, ssl_key: key, ssl_ca_cert: ca } = files.texts
  if (Object.keys(problems).length > 0 || cert === undefined || key === undefined) return { problems }
  const credentials: Credentials = {
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    ...(settings.ssl_password === undefined ? {} : { passphrase: settings.ssl_password }),
    digest: digestOf(cert, key, ca, settings.ssl_password),
  }
  const refused = refusedByOpenssl(credentials, settings)
  return Object.keys(refused).length > 0 ? { problems: refused } : { credentials }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The files of a section that is not validated yet. */
export const tlsFilesOf = (section: Json): TlsFiles => ({
  use_ssl: section.use_ssl === true,
  ssl_cert: textOf(section.ssl_cert),
  ssl_key: textOf(section.ssl_key),
  ssl_ca_cert: textOf(section.ssl_ca_cert),
  ssl_password: textOf(section.ssl_password),
})

/** Changes with each change or replacement of a file. */
export const stampOf = async (settings: TlsFiles, dataDir: string) => {
  const stamps = fileKeys.map(async (key) => {
    const path = settings[key]
    const found = path === undefined ? undefined : await statOf(path, dataDir)
    return found ? `${found.place} ${found.stats.ino} ${found.stats.size} ${found.stats.mtimeMs}` : ''
  })
  return (await Promise.all(stamps)).join('\n')
}
