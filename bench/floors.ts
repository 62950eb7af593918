// Runs in a child process: the least that any server has to spend for the same answer.
import { randomBytes, scrypt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { keyLayers, keyLength } from '../src/auth/credentials.ts'
import { randomHex } from '../src/lib/ids.ts'
import { serveParent } from './parent.ts'

export type FloorJob =
  /** Bare node:http: the same head, and the same body, which is bytes from the beginning. */
  | { kind: 'same bytes'; headers: readonly string[]; body: string }
  /** Bare node:http that builds a body of the same size, with its own request ID. */
  | { kind: 'stringify'; headers: readonly string[]; body: string }
  | { kind: 'append'; file: string; bytes: number; seconds: number }
  | { kind: 'scrypt'; callers: number; seconds: number }

/** A port for the servers, else operations a second. */
export type FloorResult = number

let server: Server | undefined

const serve = async (makeBody: () => string | Buffer, headers: readonly string[]) => {
  server?.closeAllConnections()
  server?.close()
  const next = createServer({ noDelay: true }, (_request, response) => {
    const body = makeBody()
    response.writeHead(200, [...headers, 'content-length', String(Buffer.byteLength(body))])
    response.end(body)
  })
  next.keepAliveTimeout = 72_000
  next.listen(0, '127.0.0.1')
  await once(next, 'listening')
  server = next
  return (next.address() as AddressInfo).port
}

const stringified = (body: string) => {
  const envelope = JSON.parse(body) as { request_id: string }
  return () => JSON.stringify({ ...envelope, request_id: randomHex(16) })
}

const append = (file: string, bytes: number, seconds: number) => {
  const record = randomBytes(bytes)
  const descriptor = openSync(file, 'w')
  const begun = performance.now()
  let count = 0
  while (performance.now() - begun < seconds * 1000) {
    writeSync(descriptor, record)
    fdatasyncSync(descriptor)
    count += 1
  }
  const perSecond = count / ((performance.now() - begun) / 1000)
  closeSync(descriptor)
  rmSync(file)
  return perSecond
}

const deriveOnce = (key: string, parameters: (typeof keyLayers)[number]) =>
  new Promise<void>((resolve, reject) => {
    const options = { ...parameters, maxmem: 64 * 1024 * 1024 }
    scrypt(key, 'a salt of the account', keyLength, options, (error) => (error ? reject(error) : resolve()))
  })

const derive = async (key: string) => {
  for (const layer of keyLayers) await deriveOnce(key, layer)
}

const deriveMany = async (callers: number, seconds: number) => {
  const begun = performance.now()
  let count = 0
  const caller = async () => {
    while (performance.now() - begun < seconds * 1000) {
      await derive(String(count))
      count += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return count / ((performance.now() - begun) / 1000)
}

const runFloor = async (job: FloorJob): Promise<FloorResult> => {
  switch (job.kind) {
    case 'same bytes': {
      const bytes = Buffer.from(job.body)
      return serve(() => bytes, job.headers)
    }
    case 'stringify':
      return serve(stringified(job.body), job.headers)
    case 'append':
      return append(job.file, job.bytes, job.seconds)
    case 'scrypt':
      return deriveMany(job.callers, job.seconds)
  }
}

serveParent(runFloor)
