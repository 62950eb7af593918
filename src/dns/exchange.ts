import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, isIPv6, Socket } from 'node:net'
import { type DecodedPacket, decode, encode, RECURSION_DESIRED, type RecordType } from 'dns-packet'
import { randomKey } from '../lib/ids.ts'

/** The host may be a name. */
export interface ServerAddress {
  host: string
  port: number
}

export const dnsPort = 53

const bracketed = /^\[([^\]]+)\](?::(\d+))?$/
const namedServer = /^([^:]+)(?::(\d+))?$/

/** `host`, `host:port`, `[2001:db8::1]:53`, or a bare IPv6 address as in the system's list. */
export const parseServer = (text: string): ServerAddress => {
  const [, host = text, port] = bracketed.exec(text) ?? namedServer.exec(text) ?? []
  return { host, port: port === undefined ? dnsPort : Number(port) }
}

/** A new resolver reads the current settings. */
export const systemServers = (): ServerAddress[] => new Resolver().getServers().map(parseServer)

// One query to one name server. A reply counts only if it comes from the queried address and port, to the sending port, with the
// same random ID and question.

interface DnsQuestion {
  name: string
  type: RecordType
}

type DnsFaultKind = 'silent' | 'unreachable' | 'malformed' | 'refused' | 'no_name'

/** The message is for people who set up DNS records. */
export class DnsFault extends Error {
  readonly kind: DnsFaultKind

  constructor(kind: DnsFaultKind, message: string, reason?: unknown) {
    super(message, reason === undefined ? undefined : { cause: reason })
    this.name = 'DnsFault'
    this.kind = kind
  }
}

export const silence = () => new DnsFault('silent', 'no name server answered in time')
const unreachable = (reason?: unknown) =>
  new DnsFault('unreachable', 'the name server cannot be reached', reason)
const malformed = () => new DnsFault('malformed', 'the name server sent an invalid response')

/** Fits into one datagram everywhere (DNS flag day 2020). */
const datagramBytes = 1232

interface DnsQuery extends DnsQuestion {
  id: number
  bytes: Buffer
}

const queryFor = ({ name, type }: DnsQuestion): DnsQuery => {
  const id = randomKey(2).readUInt16BE(0)
  const bytes = encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED,
    questions: [{ name, type, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: datagramBytes,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
  return { name, type, id, bytes }
}

export const sameName = (a: string, b: string) =>
  a.toLowerCase().replace(/\.$/, '') === b.toLowerCase().replace(/\.$/, '')

const isReplyTo = ({ id, name, type }: DnsQuery, packet: DecodedPacket) => {
  const [question, ...others] = packet.questions ?? []
  return (
    packet.flag_qr &&
    packet.id === id &&
    question !== undefined &&
    others.length === 0 &&
    sameName(question.name, name) &&
    question.type === type &&
    question.class === 'IN'
  )
}

const replyIn = (bytes: Buffer, query: DnsQuery): DecodedPacket | undefined => {
  try {
    const packet = decode(bytes)
    return isReplyTo(query, packet) ? packet : undefined
  } catch {
    // Not a DNS message: anyone can send bytes.
    return undefined
  }
}

const serverAddressOf = async ({ host }: ServerAddress): Promise<string> => {
  if (isIP(host)) return host
  try {
    return (await lookup(host)).address
  } catch (error) {
    throw unreachable(error)
  }
}

/** A new socket for each question: a random port, connected, so that the system drops packets from other addresses. */
const askByUdp = (query: DnsQuery, address: string, port: number, signal: AbortSignal) =>
  new Promise<DecodedPacket>((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    let isOpen = true
    const end = () => {
      signal.removeEventListener('abort', giveUp)
      if (isOpen) socket.close()
      isOpen = false
    }
    const giveUp = () => {
      end()
      reject(silence())
    }
    signal.addEventListener('abort', giveUp, { once: true })
    socket.on('error', (error) => {
      end()
      reject(unreachable(error))
    })
    socket.on('message', (bytes) => {
      const reply = replyIn(bytes, query)
      if (!reply) return
      end()
      resolve(reply)
    })
    socket.connect(port, address, () => {
      if (isOpen) socket.send(query.bytes)
    })
  })

const lengthBytes = 2

const framed = (bytes: Buffer) => {
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** The length of at most 65,535 precedes the message. */
const firstMessage = async (socket: Socket): Promise<Buffer> => {
  let received = Buffer.alloc(0)
  const chunks: AsyncIterable<Buffer> = socket
  for await (const chunk of chunks) {
    received = Buffer.concat([received, chunk])
    const end = received.length < lengthBytes ? undefined : lengthBytes + received.readUInt16BE(0)
    if (end !== undefined && received.length >= end) return received.subarray(lengthBytes, end)
  }
  throw unreachable()
}

const askByTcp = async (query: DnsQuery, address: string, port: number, signal: AbortSignal) => {
  const socket = new Socket({ signal })
  try {
    socket.connect(port, address)
    socket.write(framed(query.bytes))
    const reply = replyIn(await firstMessage(socket), query)
    if (reply) return reply
  } catch (error) {
    if (signal.aborted) throw silence()
    throw error instanceof DnsFault ? error : unreachable(error)
  } finally {
    socket.destroy()
  }
  throw malformed()
}

/** By UDP, and again by TCP if the reply did not fit; or by TCP. */
export const exchange = async (
  question: DnsQuestion,
  server: ServerAddress,
  { tcp, signal }: { tcp: boolean; signal: AbortSignal },
): Promise<DecodedPacket> => {
  const query = queryFor(question)
  const address = await serverAddressOf(server)
  if (signal.aborted) throw silence()
  if (tcp) return askByTcp(query, address, server.port, signal)
  const reply = await askByUdp(query, address, server.port, signal)
  return reply.flag_tc ? askByTcp(query, address, server.port, signal) : reply
}
