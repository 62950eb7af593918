import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { type Calls, httpOutcome, serverIn } from '../outgoing/calls.ts'
import { syncFolder } from '../saved/new-file.ts'
import { type ObjectStore, ObjectStoreError, type ObjectStorePlace, type S3Place } from './object-store.ts'

/** The folders of a key below a directory, the deepest first, and the directory itself. */
const foldersOf = (path: string, key: string) => {
  const names = key.split('/').slice(0, -1)
  return [...names.map((_, at) => join(path, ...names.slice(0, names.length - at))), path]
}

const isAbsent = (error: unknown) => codeOf(error) === 'ENOENT'

/**
 * Objects as files in an existing directory: a missing one may be an unmounted disk. `sync` makes names in a folder
 * durable.
 */
export const openDirectory = (path: string, sync = syncFolder): ObjectStore => {
  const name = `directory ${path}`

  const failing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error
      throw new ObjectStoreError(name, messageOf(error), error)
    }
  }

  const readFrom = async (key: string, from: number, to: number) => {
    const handle = await open(join(path, key), 'r')
    try {
      const bytes = new Uint8Array(to - from)
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, from)
      if (bytesRead !== bytes.length) throw new ObjectStoreError(name, `${key} is too short`)
      return bytes
    } finally {
      await handle.close()
    }
  }

  const write = async (key: string, bytes: Uint8Array) => {
    await stat(path)
    const file = join(path, key)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const draft = `${file}.partial`
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
    // Each may be new.
    for (const folder of foldersOf(path, key)) sync(folder)
  }

  return {
    name,
    put: (key, bytes) => failing(() => write(key, bytes)),
    read: (key, from, to) => failing(() => readFrom(key, from, to)),
    size: (key) =>
      failing(async () => {
        try {
          return (await stat(join(path, key))).size
        } catch (error) {
          if (isAbsent(error)) return undefined
          throw error
        }
      }),
    remove: (key) =>
      failing(async () => {
        // Without it every file on an unmounted disk would count as removed.
        await stat(path)
        await rm(join(path, key), { force: true })
        await rm(join(path, `${key}.partial`), { force: true })
      }),
  }
}

// Limits what is read of an error response: its code is at the beginning.
const maxRefusalBytes = 4000

const readTimeoutMs = 15_000
// Objects have at most about 40 MB.
const writeTimeoutMs = 120_000

interface S3Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  key: string
  range?: string
  body?: Uint8Array<ArrayBuffer>
}

/** Signatures use the path as it is sent. */
const escapedPath = (key: string) => key.split('/').map(encodeURIComponent).join('/')

/** The error code, such as NoSuchBucket. Nothing else of the text is reported. */
const codeIn = (text: string) => /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1]

const beginningOf = async (response: Response) => {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= maxRefusalBytes) break
    }
  } catch {
    // The data read before the error is enough.
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxRefusalBytes)
}

const leave = async ({ body }: Response) => {
  await body?.cancel().catch(() => undefined)
}

const isTimeout = (error: unknown) => error instanceof Error && error.name === 'TimeoutError'

/** Objects in an S3-compatible bucket, with signature version 4. */
export const openS3 = (place: S3Place, calls?: Calls): ObjectStore => {
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey, sessionToken } = place
  const name = `bucket ${bucket} at ${new URL(endpoint).host}`

  const signed = ({ method, key, range, body }: S3Call) =>
    new AwsV4Signer({
      method,
      url: `${endpoint.replace(/\/$/, '')}/${bucket}/${escapedPath(prefix + key)}`,
      headers: {
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
        ...(range ? { range } : {}),
      },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken ? { sessionToken } : {}),
      region,
      service: 's3',
    }).sign()

  /** Without keys: they contain account ids. */
  const watched = (method: S3Call['method'], work: () => Promise<Response>) =>
    calls
      ? calls.watch(
          {
            purpose: 'call_archive',
            name: `${method} call_archive`,
            kind: 'client',
            facts: { 'http.request.method': method, ...serverIn(endpoint) },
            outcomeOf: ({ status }) => httpOutcome(status),
            faultOf: (error) => (isTimeout(error) ? 'timeout' : 'unreachable'),
          },
          work,
        )
      : work()

  const ask = async (call: S3Call) => {
    const { url, method, headers } = await signed(call)
    const signal = AbortSignal.timeout(call.body ? writeTimeoutMs : readTimeoutMs)
    return fetch(url, { method, headers, signal, redirect: 'error', body: call.body ?? null })
  }

  const send = async (call: S3Call): Promise<Response> => {
    try {
      return await watched(call.method, () => ask(call))
    } catch (error) {
      throw new ObjectStoreError(name, `it cannot be reached: ${messageOf(error)}`, error)
    }
  }

  const refusal = ({ status }: Response, key: string, code?: string) =>
    new ObjectStoreError(name, `${key}: ${status}${code ? ` ${code}` : ''}`)

  const refused = async (response: Response, key: string) =>
    refusal(response, key, codeIn(await beginningOf(response)))

  const requireOk = async (response: Response, key: string) => {
    if (!response.ok) throw await refused(response, key)
    await leave(response)
  }

  /** At most `length` bytes, whatever the server sends. */
  const bodyOf = async (response: Response, key: string, length: number) => {
    const bytes = new Uint8Array(length)
    let at = 0
    try {
      for await (const chunk of response.body ?? []) {
        if (at + chunk.length > length) throw new ObjectStoreError(name, `${key}: the response is too long`)
        bytes.set(chunk, at)
        at += chunk.length
      }
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error
      throw new ObjectStoreError(name, `${key}: ${messageOf(error)}`, error)
    }
    if (at < length) throw new ObjectStoreError(name, `${key} is too short`)
    return bytes
  }

  return {
    name,
    async put(key, bytes) {
      await requireOk(await send({ method: 'PUT', key, body: new Uint8Array(bytes) }), key)
    },
    async read(key, from, to) {
      if (from === to) return new Uint8Array()
      const response = await send({ method: 'GET', key, range: `bytes=${from}-${to - 1}` })
      if (!response.ok) throw await refused(response, key)
      if (response.status !== 206) {
        // The server ignores ranges and sends the whole object.
        await leave(response)
        throw refusal(response, key)
      }
      return bodyOf(response, key, to - from)
    },
    async size(key) {
      const response = await send({ method: 'HEAD', key })
      if (response.status === 404) return undefined
      if (!response.ok) throw await refused(response, key)
      return Number(response.headers.get('content-length'))
    },
    async remove(key) {
      const response = await send({ method: 'DELETE', key })
      if (response.status !== 404) return requireOk(response, key)
      // Amazon answers 204 for a missing object, others 404. A missing bucket is 404 as well.
      const code = codeIn(await beginningOf(response))
      if (code !== 'NoSuchKey') throw refusal(response, key, code)
    },
  }
}

/** Undefined without a place. `calls` records metrics and traces of a bucket. */
export const openObjectStore = (
  place: ObjectStorePlace | undefined,
  calls?: Calls,
): ObjectStore | undefined => {
  if (!place) return undefined
  return place.kind === 's3' ? openS3(place, calls) : openDirectory(place.path)
}
