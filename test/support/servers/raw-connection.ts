import { once } from 'node:events'
import { createConnection } from 'node:net'
import { eventually } from '../run/eventually.ts'

interface RawAnswer {
  status: number
  /** In small letters, as it came. */
  head: string
  body: string
}

const lengthIn = (head: string) => Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0)

/** The answers that have come whole, and the bytes behind them. */
const answersIn = (text: string): { answers: RawAnswer[]; rest: string } => {
  const answers: RawAnswer[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(rest) ?? []
    if (end < 0 || status === undefined) return { answers, rest }
    const head = rest.slice(0, end + 2).toLowerCase()
    const body = rest.slice(end + 4, end + 4 + lengthIn(head))
    if (body.length < lengthIn(head)) return { answers, rest }
    // A 100 that asks for the body is not an answer.
    if (status !== '100') answers.push({ status: Number(status), head, body })
    rest = rest.slice(end + 4 + body.length)
  }
}

export type RawConnection = Awaited<ReturnType<typeof openRaw>>

/** A connection on which a test writes what it likes, in the pieces that it likes. */
export const openRaw = async (port: number) => {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
  let text = ''
  let hasClosed = false
  socket.on('data', (piece) => {
    text += piece.toString('latin1')
  })
  socket.on('error', () => undefined)
  // A reset socket emits an error before it is closed; it is not waited for.
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      hasClosed = true
      resolve()
    })
  })
  await Promise.race([once(socket, 'connect').catch(() => undefined), closed])
  return {
    socket,
    closed,
    isClosed: () => hasClosed,
    /** All that has come. */
    text: () => text,
    answers: () => answersIn(text).answers,
    /** Received bytes after the last whole answer. */
    rest: () => answersIn(text).rest,
    /** False when the other side takes no more. */
    write: (bytes: string | Uint8Array) =>
      new Promise<boolean>((resolve) => socket.write(bytes, (error) => resolve(!error))),
    /** The answers, once this number has arrived. */
    async answered(count = 1) {
      return eventually(
        () => answersIn(text).answers,
        ({ length }) => length >= count,
      )
    },
    end: () => socket.destroy(),
  }
}

/** The head of a request; `headers` exactly as on the wire. */
export const headOf = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'host: test', ...headers].join('\r\n')}\r\n\r\n`
