import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure, type FailureKind } from '../lib/failure.ts'
import { randomHex } from '../lib/ids.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Author } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'
import { readBytes } from './bodies.ts'
import type { PlainPage } from './exchange.ts'

/** What stands behind the address that FreeSWITCH posts to. */
export interface SwitchIngest {
  isSecret(text: string): Promise<boolean>
  take(author: Author, bytes: Buffer): Promise<'accepted' | 'duplicate' | 'ignored' | { rejected: string }>
}

interface Tools {
  ingest: SwitchIngest
  store: Store
  log: Log
}

export const freeswitchPrefix = '/ingest/freeswitch/'

// A leg with both session descriptions and every variable is 50 KB, percent-encoded twice three times that.
const largestLeg = 2_000_000

const send = (response: ServerResponse, status: number, content: object) => {
  const body = JSON.stringify(content)
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      // What was not read of a refused body would be taken for the next request.
      ...(status >= 400 ? { connection: 'close' } : {}),
    })
    .end(body)
}

const secretIn = ({ url = '' }: IncomingMessage) => {
  // FreeSWITCH appends `?uuid=` even where a query stands already: everything behind the first mark is left alone.
  const path = url.replace(/\?.*/s, '')
  const rest = path.slice(freeswitchPrefix.length).replace(/\/$/, '')
  return /^[A-Za-z0-9._~-]+$/.test(rest) ? rest : undefined
}

/**
 * POST /ingest/freeswitch/{secret}. A switch takes any 2xx for good; anything else it tries again some times and then
 * keeps in a file. So what will never be stored for a good reason (a leg of no account, a test call) is answered with
 * 200, and what a person has to look at with 400.
 */
export const freeswitchPage =
  ({ ingest, store, log }: Tools): PlainPage =>
  async (request, response) => {
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST')
      return send(response, 405, { status: 'error', reason: 'POST a call detail record' })
    }
    try {
      // Another process may just have taken the record, or replaced the secret.
      await store.fence()
      const secret = secretIn(request)
      if (secret === undefined || !(await ingest.isSecret(secret))) {
        return send(response, 404, { status: 'error', reason: 'there is nothing here' })
      }
      const bytes = await readBytes(request, largestLeg)
      const author: Author = { requestId: randomHex(16), authMethod: 'freeswitch' }
      const address = request.socket.remoteAddress
      const verdict = await ingest.take(address ? { ...author, clientAddress: address } : author, bytes)
      if (typeof verdict === 'string') return send(response, 200, { status: verdict })
      send(response, 400, { status: 'rejected', reason: verdict.rejected })
    } catch (error) {
      answerFault(response, error, log)
    }
  }

const statuses: Partial<Record<FailureKind, number>> = {
  too_large: 413,
  request_timeout: 408,
  datastore_unreachable: 503,
  datastore_conflict: 503,
}

const answerFault = (response: ServerResponse, error: unknown, log: Log) => {
  const status = error instanceof Failure ? statuses[error.kind as FailureKind] : undefined
  if (status === undefined) {
    log.write('error', 'a call record from a switch could not be taken', { error: describeError(error) })
  }
  if (!response.headersSent) send(response, status ?? 500, { status: 'error' })
}
