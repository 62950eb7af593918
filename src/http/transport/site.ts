import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { codeOf } from '../../lib/error-facts.ts'
import { randomHex } from '../../lib/ids.ts'
import type { PlainPage } from '../exchange.ts'
import { type Delivery, handOver, onClose } from './body-writer.ts'
import { type Encoding, encodingFor, encodings, hasAlready, tagOf } from './compression.ts'

// Next to the folder of the built site. The launcher writes it (scripts/bootstrap.mjs).
const stateFileOf = (folder: string) => join(folder, '..', '.build-state.json')

interface BuildState {
  pid: number
  /** Unix time in ms. */
  startedMs: number
  failure?: string
}

const buildStateOf = (folder: string): BuildState | undefined => {
  try {
    return JSON.parse(readFileSync(stateFileOf(folder), 'utf8'))
  } catch {
    // There is no build, or its launcher is just writing the file.
    return undefined
  }
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

const textOf = ({ pid, startedMs, failure }: BuildState) => {
  if (failure === undefined && isRunning(pid)) {
    const seconds = Math.max(0, Math.round((systemClock.now() - startedMs) / 1000))
    return [
      `The console is being built (${seconds} s)`,
      'This page reloads until the console is ready. The API is ready.',
    ]
  }
  return [
    'The console could not be built',
    'The terminal of the server shows the cause. To try again, stop the server and run npm start. The API is ready.',
  ]
}

const secondsToReload = '2'

/** The page that replaces the console while it is built, or after its build failed; undefined if there is no build. */
const unbuiltPage = (folder: string, headers: Readonly<Record<string, string>>): PlainPage | undefined => {
  const state = buildStateOf(folder)
  if (state === undefined) return undefined
  const [title, text] = textOf(state)
  const bytes = Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Crosspoint</title><meta name="color-scheme" content="light dark"><h1>${title}</h1><p>${text}</p></html>\n`,
  )
  return (request, response) => {
    response.writeHead(503, {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': bytes.length,
      refresh: secondsToReload,
      'retry-after': secondsToReload,
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/** Suffixes of the compressed files next to a file. */
const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

interface SiteFile {
  path: string
  etag: string
  type: string
  compressed: readonly Encoding[]
  isHashed: boolean
}

// With a digest of the content in their name: cached forever.
const hashedName = /(^|\/)assets\/.*[-.][\w-]{8,}\.\w+$/

const isCompressed = (name: string) => Object.values(suffixes).some((suffix) => name.endsWith(suffix))

const fileAt = (folder: string, path: string): SiteFile | undefined => {
  const type = types[extname(path)]
  if (type === undefined) return undefined
  const { size, mtimeMs } = statSync(path)
  const compressed = encodings.filter((name) => existsSync(`${path}${suffixes[name]}`))
  const isHashed = hashedName.test(relative(folder, path).split(sep).join('/'))
  const etag = `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`
  return { path, etag, type, compressed, isHashed }
}

/** By path: requests cannot name other files. */
const filesIn = (folder: string) => {
  const files = new Map<string, SiteFile>()
  if (!existsSync(folder)) return files
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (isCompressed(name)) continue
    const file = fileAt(folder, join(folder, name))
    if (file) files.set(`/${name.split(sep).join('/')}`, file)
  }
  return files
}

interface Hashes {
  script?: readonly string[]
  style?: readonly string[]
}

/** Digests of inline scripts and styles of the built pages, by the beginning of their paths. */
const hashesIn = (folder: string): Readonly<Record<string, Hashes>> => {
  const path = join(folder, 'csp-hashes.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

const sources = (given: readonly string[]) => ["'self'", ...given].join(' ')

/** Only files of the site and the API; no other inline scripts and styles. */
const policyOf = ({ script = [], style = [] }: Hashes) =>
  [
    "default-src 'none'",
    `script-src ${sources(script)}`,
    `style-src ${sources(style)}`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')

const strictPolicy = policyOf({})

const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** Undefined if it is missing: a build may have replaced the site. */
const openFile = async (path: string) => {
  try {
    return await open(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

// Time without progress after which the connection is closed.
const stallMilliseconds = 30_000
const pieceBytes = 65_536

/** Resolves when all earlier responses on the connection are sent; false if it closed. */
const turnOf = (request: IncomingMessage, response: ServerResponse) =>
  new Promise<boolean>((resolve) => {
    if (response.socket) return resolve(true)
    const stay = onClose(request.socket, () => resolve(false))
    response.once('socket', () => {
      stay()
      resolve(true)
    })
  })

/** At the pace of the client. False if it left. */
const sendPieces = async (handle: FileHandle, delivery: Delivery): Promise<boolean> => {
  const piece = Buffer.allocUnsafe(pieceBytes)
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, pieceBytes)
    if (bytesRead === 0) return true
    if (!(await handOver(delivery, piece.subarray(0, bytesRead)))) return false
  }
}

const sendFile = async (
  request: IncomingMessage,
  response: ServerResponse,
  file: SiteFile,
  policy: string,
) => {
  const encoding = encodingFor(request, file.compressed)
  const etag = tagOf(file.etag, encoding)
  const headers = {
    ...commonHeaders,
    'content-security-policy': policy,
    'content-type': file.type,
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag,
  }
  if (hasAlready(request, etag)) return void response.writeHead(304, headers).end()
  // One open file for each connection, also with pipelined requests.
  if (!(await turnOf(request, response))) return
  const handle = await openFile(`${file.path}${encoding ? suffixes[encoding] : ''}`)
  if (!handle) return void response.writeHead(404, { ...commonHeaders, 'cache-control': 'no-store' }).end()
  try {
    response.writeHead(200, {
      ...headers,
      'content-length': (await handle.stat()).size,
      ...(encoding ? { 'content-encoding': encoding } : {}),
    })
    if (request.method === 'HEAD' || (await sendPieces(handle, { request, response, stallMilliseconds })))
      response.end()
  } finally {
    await handle.close()
  }
}

const noncePlace = '__NONCE__'

/** The page of the console. Its styles have a nonce for each response. */
const consolePage =
  (html: string): PlainPage =>
  (request, response) => {
    const nonce = randomHex(16)
    const bytes = Buffer.from(html.replace(noncePlace, nonce))
    response.writeHead(200, {
      ...commonHeaders,
      'content-security-policy': policyOf({ style: [`'nonce-${nonce}'`] }),
      'content-type': types['.html'],
      'cache-control': 'no-store',
      'content-length': bytes.length,
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

// The page of the console has its own router.
const consolePaths = /^\/(?:$|(?:a|sign-in|recover)(?:\/|$))/

const movedTo =
  (path: string): PlainPage =>
  (_request, response) =>
    void response.writeHead(308, { location: path }).end()

export type Site = ReturnType<typeof createSite>

/** Pages of a built site by path; undefined before the site is built. */
const loadSite = (folder: string) => {
  const files = filesIn(folder)
  const hashes = hashesIn(folder)
  const index = files.get('/index.html')
  const console = index && consolePage(readFileSync(index.path, 'utf8'))
  const policies = new Map(Object.entries(hashes).map(([below, given]) => [below, policyOf(given)]))
  const policyFor = (path: string) =>
    [...policies].find(([below]) => path.startsWith(below))?.[1] ?? strictPolicy

  const pageOf = (path: string): PlainPage | undefined => {
    const file = files.get(path) ?? files.get(`${path}index.html`) ?? files.get(`${path}.html`)
    if (file && file !== index)
      return (request, response) => sendFile(request, response, file, policyFor(path))
    return files.has(`${path}/index.html`) ? movedTo(`${path}/`) : undefined
  }

  return {
    isBuilt: console !== undefined,
    find: (path: string) => (consolePaths.test(path) ? console : pageOf(path)),
  }
}

/** Changes when a build replaces the folder; undefined while there is no site. */
const versionOf = (folder: string) => {
  const index = statSync(join(folder, 'index.html'), { throwIfNoEntry: false })
  return index && `${index.ino}-${index.mtimeMs}`
}

// Not scripts, styles or images.
const pagesForPeople = /^\/docs(?:$|\/(?:[^.]*|.*\.html)$)/

/**
 * The console, the reference and the guides in the folder of the built site. A build may replace them while the server runs: the
 * next request gets the new ones. Until the first build ends, their pages report its progress. Without site and build there are none.
 */
export const createSite = (folder: string) => {
  let loaded: { version: string | undefined; site: ReturnType<typeof loadSite> } | undefined

  const latestSite = () => {
    const version = versionOf(folder)
    // A folder that is missing for a moment is being replaced.
    const isLatest = loaded && (version === undefined || version === loaded.version)
    if (!loaded || !isLatest) loaded = { version, site: loadSite(folder) }
    return loaded.site
  }

  return {
    find(path: string, method: string): PlainPage | undefined {
      if (method !== 'GET' && method !== 'HEAD') return undefined
      const latest = latestSite()
      if (latest.isBuilt) return latest.find(path)
      const isForPeople = consolePaths.test(path) || pagesForPeople.test(path)
      return isForPeople
        ? unbuiltPage(folder, { ...commonHeaders, 'content-security-policy': strictPolicy })
        : latest.find(path)
    },
  }
}
