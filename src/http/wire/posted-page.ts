import type { IncomingMessage, ServerResponse } from 'node:http'
import { datastoreConflict, Failure, isFailure } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { describeError, type Log } from '../../lib/log.ts'
import type { Author } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import type { PlainPage } from '../exchange.ts'
import { readBytes } from './body-bytes.ts'
import { targetOf } from './target.ts'

/** What stands around a body that was posted. */
interface Posted {
  /** The last segment of the path. */
  opener: string
  header(name: string): string
}

/** An address outside of `/v2` that machines post to: the last segment of its path opens it. */
export interface PostedPage {
  /** The path in front of what opens it, with its last slash. */
  below: string
  /** Told to those who do anything else than post. */
  expects: string
  /** What the audit calls such a sender. */
  authMethod: string
  largestBytes: number
  isSecret(text: string): Promise<boolean>
  take(author: Author, bytes: Buffer, posted: Posted): Promise<{ status: number; content: object }>
  /** What the log says when a body could not be taken. */
  fault: string
}

interface Deps {
  store: Store
  log: Log
}

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

const secretIn = (below: string, request: IncomingMessage) => {
  const url = targetOf(request)
  // Senders append a query even where one stands already: everything behind the first mark is left alone.
  const [path = ''] = url.split('?', 1)
  const rest = path.slice(below.length).replace(/\/$/, '')
  return /^[A-Za-z0-9._~-]+$/.test(rest) ? rest : undefined
}

const authorOf = ({ authMethod }: PostedPage, { socket }: IncomingMessage): Author => {
  const author: Author = { requestId: randomHex(16), authMethod }
  return socket.remoteAddress ? { ...author, clientAddress: socket.remoteAddress } : author
}

// What the sender can send again, or has sent wrongly; anything else is a fault of the server.
const expectedStatuses = [408, 413, 503, 507]

const statusOf = (error: Failure) => {
  const status = isFailure(error, datastoreConflict) ? 503 : error.answer.status
  return expectedStatuses.includes(status) ? status : undefined
}

export const servePostedPage = (page: PostedPage, { store, log }: Deps): PlainPage => {
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    // Another process may just have taken the record, or replaced the secret.
    await store.fence()
    const secret = secretIn(page.below, request)
    if (secret === undefined || !(await page.isSecret(secret))) {
      return send(response, 404, { status: 'error', reason: 'there is nothing here' })
    }
    const bytes = await readBytes(request, page.largestBytes)
    const { status, content } = await page.take(authorOf(page, request), bytes, {
      opener: secret,
      header: (name) => String(request.headers[name] ?? ''),
    })
    send(response, status, content)
  }

  const answerFault = (response: ServerResponse, error: unknown) => {
    const status = error instanceof Failure ? statusOf(error) : undefined
    if (status === undefined) log.write('error', page.fault, { error: describeError(error) })
    if (!response.headersSent) send(response, status ?? 500, { status: 'error' })
  }

  return (request, response) => {
    if (request.method === 'POST')
      return take(request, response).catch((error) => answerFault(response, error))
    response.setHeader('allow', 'POST')
    send(response, 405, { status: 'error', reason: page.expects })
  }
}
