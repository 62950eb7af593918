// A small S3-compatible store: it verifies every signature, and serves ranges.
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3Place } from '../../../src/object-store/object-store.ts'

const accessKeyId = 'AKIDEXAMPLE'
const secretAccessKey = 'a-secret-that-is-never-told'
const bucket = 'calls'
const region = 'eu-test-1'

const sha = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** The signature of version 4 that a request should carry. */
const signatureOf = (request: IncomingMessage, signedHeaders: string, scope: string) => {
  const url = new URL(request.url ?? '/', 'http://host')
  const headers = signedHeaders.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
  const canonical = [
    request.method,
    url.pathname,
    url.search.slice(1),
    headers.join(''),
    signedHeaders,
    request.headers['x-amz-content-sha256'],
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha(canonical)].join('\n')
  const [date = '', zone = '', service = '', end = ''] = scope.split('/')
  const key = [date, zone, service, end].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  return hmac(key, text).toString('hex')
}

const isSigned = (request: IncomingMessage, body: Buffer) => {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, key, scope = '', names = '', signature] = form.exec(request.headers.authorization ?? '') ?? []
  const needed = ['host', 'x-amz-content-sha256', 'x-amz-date']
  return (
    key === accessKeyId &&
    scope.endsWith(`/${region}/s3/aws4_request`) &&
    needed.every((name) => names.split(';').includes(name)) &&
    request.headers['x-amz-content-sha256'] === sha(body) &&
    signature === signatureOf(request, names, scope)
  )
}

export type ObjectServer = Awaited<ReturnType<typeof startObjectServer>>

/** The bucket `calls`, with no object in it. */
export const startObjectServer = async () => {
  const objects = new Map<string, Buffer>()

  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => {
    const refuse = (status: number, code: string) =>
      response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`)
    if (!isSigned(request, body)) return refuse(403, 'SignatureDoesNotMatch')
    const [, name, ...rest] = decodeURIComponent(request.url ?? '').split('/')
    const key = rest.join('/')
    if (name !== bucket) return refuse(404, 'NoSuchBucket')
    if (request.method === 'PUT') objects.set(key, body)
    if (request.method === 'DELETE') objects.delete(key)
    if (request.method === 'PUT' || request.method === 'DELETE')
      return response.writeHead(request.method === 'PUT' ? 200 : 204).end()
    const found = objects.get(key)
    if (!found) return refuse(404, 'NoSuchKey')
    if (request.method === 'HEAD') return response.writeHead(200, { 'content-length': found.length }).end()
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    if (from === undefined || Number(from) >= found.length) return refuse(416, 'InvalidRange')
    return response.writeHead(206).end(found.subarray(Number(from), Number(to) + 1))
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      // A request that breaks off is not stored.
      return
    }
    answer(request, response, Buffer.concat(chunks))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const place: S3Place = {
    kind: 's3',
    bucket,
    prefix: 'old/',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region,
    accessKeyId,
    secretAccessKey,
    sessionToken: undefined,
  }
  return {
    place,
    objects,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
