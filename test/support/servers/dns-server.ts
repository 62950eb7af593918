import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet'

export interface AskedQuestion {
  name: string
  type: string
  transport: 'udp' | 'tcp'
  id: number
  port: number
}

/** How the server misbehaves, until a test changes it. */
export interface Mood {
  /** Milliseconds before each answer. */
  delayMs?: number
  /** Each answer is sent after this promise resolves. */
  until?: Promise<unknown>
  /** Never answers. */
  silent?: boolean
  /** Does not answer this many questions. */
  losing?: number
  /** Answers every question with this code: 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED. */
  code?: number
  /** UDP responses are truncated and marked as such. */
  truncates?: boolean
  /** Before the true answer come false ones: a wrong id, another question, bytes that are not a message. */
  forges?: boolean
  /** Before the true answer come this many of which some bytes are spoiled, behind the id. */
  noise?: number
  /** Says of no answer that it is its own. */
  lame?: boolean
}

const keyOf = (name: string, type: string) => `${name.toLowerCase()} ${type}`

/** Everything between the name that was asked for and the records, along its aliases. */
const answersTo = (zone: Map<string, Answer[]>, name: string, type: string): Answer[] => {
  const own = zone.get(keyOf(name, type)) ?? []
  if (own.length > 0 || type === 'CNAME') return own
  const [alias] = zone.get(keyOf(name, 'CNAME')) ?? []
  return alias?.type === 'CNAME' ? [alias, ...answersTo(zone, alias.data, type)] : []
}

const flagsOf = ({ lame }: Mood, code: number) =>
  RECURSION_AVAILABLE | (lame ? 0 : AUTHORITATIVE_ANSWER) | code

const forgeriesOf = (query: DecodedPacket, name: string): Buffer[] => {
  const lie: Packet = {
    type: 'response',
    id: query.id ?? 0,
    flags: RECURSION_AVAILABLE,
    questions: query.questions ?? [],
    answers: [{ type: 'A', name, data: '203.0.113.66', ttl: 60 }],
  }
  return [
    encode({ ...lie, id: ((query.id ?? 0) + 1) & 0xffff }),
    encode({ ...lie, questions: [{ type: 'A', name: 'elsewhere.example', class: 'IN' }] }),
    encode({ ...lie, type: 'query' }),
    encode({ ...lie, questions: [] }),
    Buffer.from('no message at all'),
    Buffer.alloc(0),
  ]
}

const spoiled = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes)
  for (let times = 0; times < 4; times += 1) {
    copy[2 + Math.floor(Math.random() * (copy.length - 2))] = Math.floor(Math.random() * 256)
  }
  // As no answer: else the noise could be taken for a refusal, and rightly so.
  copy[2] = (copy[2] ?? 0) & 0x7f
  return Math.random() < 0.3 ? copy.subarray(0, Math.floor(Math.random() * copy.length)) : copy
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const isTaken = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EADDRINUSE'

/** A small real name server, UDP and TCP on one port, which can misbehave on demand. */
export const startDnsServer = async (address = '127.0.0.1'): Promise<DnsServer> => {
  for (;;) {
    try {
      return await open(address)
    } catch (error) {
      // The port that was free for UDP was not for TCP: another one will be.
      if (!isTaken(error)) throw error
    }
  }
}

const open = async (address: string) => {
  const zone = new Map<string, Answer[]>()
  const names = new Set<string>()
  const asked: AskedQuestion[] = []
  let mood: Mood = {}
  const timers = new Set<NodeJS.Timeout>()
  const sockets = new Set<Socket>()

  const reply = (query: DecodedPacket): Packet => {
    const question = query.questions?.[0]
    const answers = question ? answersTo(zone, question.name, question.type) : []
    const exists = answers.length > 0 || names.has(question?.name.toLowerCase() ?? '')
    const code = mood.code ?? (exists ? 0 : 3)
    return {
      type: 'response',
      id: query.id ?? 0,
      flags: flagsOf(mood, code),
      questions: query.questions ?? [],
      answers: mood.code === undefined ? answers : [],
    }
  }

  let isClosed = false
  const later = (act: () => void) => {
    const { until, delayMs = 0 } = mood
    if (until) return void until.then(() => isClosed || act())
    const timer = setTimeout(() => {
      timers.delete(timer)
      act()
    }, delayMs)
    timers.add(timer)
  }

  const isLost = () => {
    if (mood.silent) return true
    if (!mood.losing) return false
    mood = { ...mood, losing: mood.losing - 1 }
    return true
  }

  const take = (query: DecodedPacket, transport: 'udp' | 'tcp', from: number) => {
    const { name = '', type = '' } = query.questions?.[0] ?? {}
    asked.push({ name, type, transport, id: query.id ?? 0, port: from })
    return !isLost()
  }

  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  udp.on('message', (bytes, from: RemoteInfo) => {
    const query = decode(bytes)
    if (!take(query, 'udp', from.port)) return
    const whole = reply(query)
    const sent = mood.truncates
      ? { ...whole, answers: [], flags: (whole.flags ?? 0) | TRUNCATED_RESPONSE }
      : whole
    const name = query.questions?.[0]?.name ?? ''
    const lies = mood.forges ? forgeriesOf(query, name) : []
    later(() => {
      for (let times = 0; times < (mood.noise ?? 0); times += 1) {
        udp.send(spoiled(encode(sent)), from.port, from.address)
      }
      for (const lie of lies) udp.send(lie, from.port, from.address)
      udp.send(encode(sent), from.port, from.address)
    })
  })

  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
      const query = decode(received.subarray(2))
      if (!take(query, 'tcp', socket.remotePort ?? 0)) return
      const bytes = encode(reply(query))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      later(() => {
        // In two pieces, as networks do.
        socket.write(length)
        void nextTurn().then(() => socket.end(bytes))
      })
    })
  })

  const listen = async () => {
    udp.bind(0, address)
    await once(udp, 'listening')
    const { port } = udp.address()
    tcp.listen(port, address)
    try {
      await once(tcp, 'listening')
    } catch (error) {
      udp.close()
      throw error
    }
    return port
  }
  const bound = await listen()

  return {
    host: address,
    port: bound,
    /** As CROSSPOINT_DNS_SERVERS takes it. */
    text: `${address.includes(':') ? `[${address}]` : address}:${bound}`,
    asked,
    behave(next: Mood) {
      mood = next
    },
    /** Sets all records of these names and types. */
    set(...answers: Answer[]) {
      for (const { name, type } of answers) zone.delete(keyOf(name, type))
      for (const answer of answers) {
        names.add(answer.name.toLowerCase())
        const key = keyOf(answer.name, answer.type)
        zone.set(key, [...(zone.get(key) ?? []), answer])
      }
    },
    clear() {
      zone.clear()
      names.clear()
    },
    async close() {
      isClosed = true
      for (const timer of timers) clearTimeout(timer)
      for (const socket of sockets) socket.destroy()
      udp.close()
      tcp.close()
      await once(tcp, 'close')
    },
  }
}

export type DnsServer = Awaited<ReturnType<typeof open>>
