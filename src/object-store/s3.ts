import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { messageOf } from '../lib/error-facts.ts'
import { type Calls, httpOutcome, serverIn } from '../outgoing/calls.ts'
import { type ObjectStore, ObjectStoreError, type S3Place } from './object-store.ts'

// Limits what is read of an error response: its code is at the beginning.
const maxRefusalBytes = 4000

const readTimeoutMs = 15_000
// Objects have at most about 40 MB.
const writeTimeoutMs = 120_000

interface Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  key: string
  range?: string
  body?: Uint8Array<ArrayBuffer>
}

/** Signatures use the path as it is sent. */
const escaped = (key: string) => key.split('/').map(encodeURIComponent).join('/')

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
    // What was read before the error is enough.
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

  const signed = ({ method, key, range, body }: Call) =>
    new AwsV4Signer({
      method,
      url: `${endpoint.replace(/\/$/, '')}/${bucket}/${escaped(prefix + key)}`,
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
  const watched = (method: Call['method'], work: () => Promise<Response>) =>
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

  const ask = async (call: Call) => {
    const { url, method, headers } = await signed(call)
    const signal = AbortSignal.timeout(call.body ? writeTimeoutMs : readTimeoutMs)
    return fetch(url, { method, headers, signal, redirect: 'error', body: call.body ?? null })
  }

  const send = async (call: Call): Promise<Response> => {
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
        if (at + chunk.length > length) throw new ObjectStoreError(name, `${key}: the answer is too long`)
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
