import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { afterEach } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import type { RunningServer } from '../../../src/compose.ts'
import type { Json } from '../../../src/lib/json.ts'
import { parseStrictly } from '../matchers/repeated-keys.ts'
import { eventually } from '../run/eventually.ts'

/** A message of a server over WebSocket. */
export interface Said {
  action: 'reply' | 'event'
  request_id?: string
  status?: 'success' | 'error'
  subscribed_key?: string
  subscription_key?: string
  name?: string
  routing_key?: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  data: any
}

export type Talk = ReturnType<typeof talkOver>

let asked = 0

/** A client of the family's protocol on an open socket. */
export const talkOver = (socket: WebSocket) => {
  const said: Said[] = []
  let closing: { code: number; reason: string } | undefined
  socket.on('message', (bytes: Buffer) => said.push(parseStrictly(bytes.toString('utf8')) as Said))
  socket.on('error', () => undefined)
  socket.once('close', (code, reason: Buffer) => {
    closing = { code, reason: reason.toString('utf8') }
  })
  const repliesTo = (requestId: string) => said.filter(({ request_id: id }) => id === requestId)
  return {
    socket,
    said,
    events: () => said.filter(({ action }) => action === 'event'),
    repliesTo,
    send: (text: string) => socket.send(text),
    /** Sends a command, and returns the reply. */
    async ask(action: string, token: string | undefined, data?: Json, more: Json = {}): Promise<Said> {
      asked += 1
      const requestId = `request ${asked}`
      socket.send(
        JSON.stringify({
          action,
          request_id: requestId,
          auth_token: token,
          ...(data ? { data } : {}),
          ...more,
        }),
      )
      await eventually(
        () => repliesTo(requestId).length,
        (count) => count > 0,
      )
      return repliesTo(requestId)[0] as Said
    },
    /** The events, once this number has arrived. */
    async heard(count: number) {
      await eventually(
        () => said.filter(({ action }) => action === 'event').length,
        (seen) => seen >= count,
      )
      return said.filter(({ action }) => action === 'event')
    },
    closed: () =>
      eventually(
        () => closing,
        (seen) => seen !== undefined,
      ) as Promise<{ code: number; reason: string }>,
    isClosed: () => closing !== undefined,
  }
}

/** Waits until all committed events are delivered: a later subscriber receives nothing older. */
export const feedSettled = async ({ store, feed }: Pick<RunningServer, 'store' | 'feed'>) => {
  // A feed without followers does not move.
  const leave = await feed.follow({
    wants: () => false,
    hear: () => undefined,
    miss: () => undefined,
  })
  await eventually(
    async () => {
      const waiting = await store.all('SELECT id FROM audit_log WHERE sequence IS NULL LIMIT 1')
      return waiting.length === 0 && (await feed.newest()) === feed.position()
    },
    (isSettled) => isSettled,
  )
  leave()
}

export const pathOfSockets = '/v2/websockets/connect'

/** Opens sockets that end with the test. */
export const useWebSockets = (port: () => number) => {
  const open: WebSocket[] = []
  afterEach(async () => {
    const left = open.splice(0).filter(({ readyState }) => readyState !== WebSocket.CLOSED)
    const closed = left.map((socket) => once(socket, 'close'))
    for (const socket of left) socket.terminate()
    await Promise.all(closed)
  })
  return {
    async connect(path = pathOfSockets, options: ClientOptions = {}, scheme = 'ws', at = port()) {
      const socket = new WebSocket(`${scheme}://127.0.0.1:${at}${path}`, options)
      open.push(socket)
      const talk = talkOver(socket)
      await once(socket, 'open')
      return talk
    },

    /** The answer to an upgrade that is refused. */
    refused: (path = pathOfSockets, options: ClientOptions = {}, protocols: string[] = []) =>
      new Promise<{ status: number; headers: IncomingMessage['headers']; body: Json }>((resolve, reject) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port()}${path}`, protocols, options)
        socket.once('open', () => {
          socket.terminate()
          reject(new Error('the upgrade was not refused'))
        })
        socket.on('error', () => undefined)
        socket.once('unexpected-response', (_request, response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (piece: string) => {
            text += piece
          })
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: text === '' ? {} : (parseStrictly(text) as Json),
            }),
          )
        })
      }),
  }
}
