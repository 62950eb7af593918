// Invalid and nearly valid HTTP over raw sockets: nothing may be smuggled, garbled or read without end.
import { connect } from 'node:net'
import type { Chance } from '../test/fuzz/chance.ts'
import { dechunk, type Head, parseHead } from './wire.ts'

export interface RawAttempt {
  title: string
  bytes: Buffer
  /** More answers than this mean that a request was smuggled. Undefined: the bytes were shaken, anything may come. */
  mostAnswers: number | undefined
  /** False: the sender goes silent, and goes away soon. */
  isWhole: boolean
}

interface Shape {
  title: string
  text: (chance: Chance) => string
  mostAnswers: number
  isWhole?: boolean
}

const host = 'host: attack.test\r\n'
const inner = `GET /v2/schemas/users HTTP/1.1\r\n${host}\r\n`
const post = 'POST /v2/user_auth/recovery HTTP/1.1\r\n'
const chunked = 'transfer-encoding: chunked\r\n'

const shapes: readonly Shape[] = [
  {
    title: 'a length and chunks',
    text: () => `${post}${host}content-length: 5\r\n${chunked}\r\n0\r\n\r\n${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'chunks and a length',
    text: () => `${post}${host}${chunked}content-length: ${inner.length + 5}\r\n\r\n0\r\n\r\n${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'a coding that is only nearly chunked',
    text: (chance) => {
      const coding = chance.pick([
        'xchunked',
        'chunked, identity',
        '\x0bchunked',
        'chunked\r\ntransfer-encoding: x',
        '"chunked"',
      ])
      return `${post}${host}transfer-encoding: ${coding}\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${inner}`
    },
    mostAnswers: 1,
  },
  {
    title: 'two lengths',
    text: () => `${post}${host}content-length: 0\r\ncontent-length: ${inner.length}\r\n\r\n${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'a length that is no number',
    text: (chance) =>
      `${post}${host}content-length: ${chance.pick(['-1', '+5', '0x5', '5, 6', '1e1', '99999999999999999999', '5 '])}\r\n\r\nhello${inner}`,
    mostAnswers: 2,
  },
  {
    title: 'a space before the colon',
    text: () => `${post}${host}content-length : ${inner.length}\r\n\r\n${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'lines that end with LF alone',
    text: () => `GET /v2/schemas HTTP/1.1\nhost: x\n\nGET /v2/schemas/users HTTP/1.1\nhost: x\n\n`,
    mostAnswers: 1,
  },
  {
    title: 'a folded header',
    text: () => `GET /v2/schemas/users HTTP/1.1\r\n${host}x-a: b\r\n ${chunked}\r\n${inner}`,
    mostAnswers: 2,
  },
  {
    title: 'a body on GET that looks like a request',
    text: () => `GET /v2/schemas/users HTTP/1.1\r\n${host}content-length: ${inner.length}\r\n\r\n${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'a request behind Connection: close',
    text: () => `GET /v2/schemas/users HTTP/1.1\r\n${host}connection: close\r\n\r\n${inner}${inner}`,
    mostAnswers: 1,
  },
  {
    title: 'requests on end',
    text: () => inner.repeat(10),
    mostAnswers: 10,
  },
  {
    title: 'chunks with extensions',
    text: (chance) =>
      `${post}${host}content-type: application/json\r\n${chunked}\r\nb;a="${'x'.repeat(chance.pick([1, 100, 30_000]))}"\r\n{"data":{}}\r\n0\r\n\r\n`,
    mostAnswers: 1,
  },
  {
    title: 'chunks that are none',
    text: (chance) =>
      `${post}${host}${chunked}\r\n${chance.pick(['zz\r\nhello', 'ffffffffffffffff\r\n', '-1\r\n', '5\r\nhelloworld\r\n0\r\n\r\n', '5\nhello\n0\n\n', '0\r\nx: y\r\n\r\n'])}${inner}`,
    mostAnswers: 2,
  },
  {
    title: 'a refused body with a request behind it',
    text: () =>
      `PUT /v2/accounts HTTP/1.1\r\n${host}content-type: application/json\r\ncontent-length: 11\r\n\r\n{"data":{}}${inner}`,
    mostAnswers: 2,
  },
  {
    title: 'a long address',
    text: (chance) =>
      `GET /v2/schemas/${'a'.repeat(chance.pick([2000, 10_000, 20_000, 100_000]))} HTTP/1.1\r\n${host}\r\n`,
    mostAnswers: 1,
  },
  {
    title: 'large headers',
    text: (chance) =>
      `GET /v2/schemas/users HTTP/1.1\r\n${host}${chance.pick([`x-a: ${'a'.repeat(20_000)}\r\n`, 'a: b\r\n'.repeat(3000), `${'a'.repeat(20_000)}: b\r\n`])}\r\n`,
    mostAnswers: 1,
  },
  {
    title: 'a body that is announced and too large',
    text: () => `${post}${host}content-type: application/json\r\ncontent-length: 9000000000\r\n\r\n{"data":`,
    mostAnswers: 1,
  },
  {
    title: 'an expectation',
    text: (chance) =>
      `${post}${host}expect: ${chance.pick(['100-continue', 'nothing'])}\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"data":{}}`,
    mostAnswers: 1,
  },
  {
    title: 'other versions and other forms',
    text: (chance) =>
      chance.pick([
        'GET /\r\n\r\n',
        'GET /v2/schemas HTTP/1.0\r\n\r\n',
        'GET /v2/schemas HTTP/9.9\r\n\r\n',
        'GET http://elsewhere.test/v2/about HTTP/1.1\r\nhost: elsewhere.test\r\n\r\n',
        'CONNECT elsewhere.test:443 HTTP/1.1\r\nhost: elsewhere.test\r\n\r\n',
        `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'GET /v2/about HTTP/1.1\r\n\r\n',
        `GET /v2/about HTTP/1.1\r\n${host}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`,
        '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      ]),
    mostAnswers: 1,
  },
  {
    title: 'a body in pieces of a gzip that is none',
    text: () =>
      `${post}${host}content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 10\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03`,
    mostAnswers: 1,
  },
  {
    title: 'half a head',
    text: () => `GET /v2/schemas HTTP/1.1\r\n${host}x-a: b`,
    mostAnswers: 0,
    isWhole: false,
  },
  {
    title: 'half a body',
    text: () => `${post}${host}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"data"`,
    mostAnswers: 0,
    isWhole: false,
  },
]

const shake = (chance: Chance, given: Buffer) => {
  const bytes = Buffer.from(given)
  for (let times = 1 + chance.below(3); times > 0; times -= 1)
    bytes[chance.below(bytes.length)] = chance.below(256)
  return chance.once(4) ? bytes.subarray(0, chance.below(bytes.length + 1)) : bytes
}

export const rawAttemptOf = (chance: Chance): RawAttempt => {
  const { title, text, mostAnswers, isWhole = true } = chance.pick(shapes)
  const bytes = Buffer.from(text(chance), 'latin1')
  if (!chance.once(3)) return { title, bytes, mostAnswers, isWhole }
  return { title: `${title}, shaken`, bytes: shake(chance, bytes), mostAnswers: undefined, isWhole }
}

const quietMs = 60
const longestMs = 5000

/** Sends the bytes, and reads until the server ends the connection or has nothing more to say. */
export const exchangeRaw = (port: number, { bytes, isWhole }: RawAttempt) =>
  new Promise<Buffer>((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let quiet: NodeJS.Timeout | undefined
    const finish = () => {
      clearTimeout(quiet)
      clearTimeout(longest)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    const longest = setTimeout(finish, longestMs)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      clearTimeout(quiet)
      quiet = setTimeout(finish, quietMs)
    })
    socket.on('error', finish)
    socket.on('end', finish)
    socket.on('close', finish)
    socket.on('connect', () => {
      if (isWhole) return socket.end(bytes)
      socket.write(bytes)
      quiet = setTimeout(finish, quietMs)
    })
  })

interface RawAnswer extends Head {
  body: Buffer
}

const dechunked = (bytes: Buffer) => {
  try {
    return dechunk(bytes)
  } catch {
    return undefined
  }
}

const headStart = 'HTTP/1.1 '

/** The body after a head, and its end; undefined if it is incomplete. */
const bodyOf = ({ status, headers }: Head, behind: Buffer) => {
  const length = headers.get('content-length')
  if (length !== undefined) return { body: behind.subarray(0, Number(length)), end: Number(length) }
  if (headers.get('transfer-encoding') === 'chunked') return dechunked(behind)
  // A response to HTTP/1.0 ends with the connection. A second response in it is a fault.
  const isOpen = headers.get('connection') === 'close' && status >= 200 && status !== 304
  const end = isOpen && !behind.includes(headStart) ? behind.length : 0
  return { body: behind.subarray(0, end), end }
}

/** The answers in what came; undefined when it is not a row of answers. Interim ones are left out. */
export const answersIn = (given: Buffer): RawAnswer[] | undefined => {
  const answers: RawAnswer[] = []
  let rest = given
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0 || rest.toString('latin1', 0, 9) !== headStart) return undefined
    const head = parseHead(rest.toString('latin1', 0, end))
    const behind = rest.subarray(end + 4)
    const whole = bodyOf(head, behind)
    // A connection that is ended while a long answer is on its way leaves half of it.
    if (!whole || whole.end > behind.length) return answers
    if (head.status >= 200) answers.push({ ...head, body: whole.body })
    rest = behind.subarray(whole.end)
  }
  return answers
}

/** Statuses from 500 on that raw bytes may cause: an unknown method or version. */
const unknownWords = new Set([501, 505])

const isFault = (status: number, isStoreCut: boolean) =>
  status >= 500 && !unknownWords.has(status) && !(isStoreCut && status === 503)

export const judgeRaw = ({ mostAnswers }: RawAttempt, received: Buffer, isStoreCut: boolean): string[] => {
  const answers = answersIn(received)
  if (!answers) return ['bytes that are no answer']
  const faults = answers.flatMap(({ status }) => (isFault(status, isStoreCut) ? [`${status}`] : []))
  // If the store is unreachable, the response may come before the whole body was read.
  const most = mostAnswers === 0 && isStoreCut && answers[0]?.status === 503 ? 1 : mostAnswers
  if (most !== undefined && answers.length > most) faults.push(`${answers.length} answers: smuggled`)
  const closing = answers.findIndex(({ headers }) => headers.get('connection') === 'close')
  if (closing >= 0 && closing < answers.length - 1) faults.push('an answer behind Connection: close')
  return faults
}
