import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ReceivedMail {
  from: string
  to: string[]
  /** Headers and body, as they came. */
  message: string
}

type Reply = string | undefined

interface State {
  mails: ReceivedMail[]
  /** Refusals of the next mails. */
  refusals: string[]
  /** Recipients that are never accepted, with the answer. */
  unknown: Map<string, string>
  /** Accepts emails but does not respond afterwards. */
  isSilent: boolean
  connections: number
}

/** One conversation: commands in, replies out; between DATA and a lone dot, a message. */
const converse = (socket: Socket, server: State) => {
  let rest = ''
  let mail: ReceivedMail = { from: '', to: [], message: '' }
  let isMessage = false

  const commands: Record<string, (line: string) => Reply> = {
    EHLO: () => '250-test\r\n250 8BITMIME',
    HELO: () => '250 test',
    MAIL: (line) => {
      const refusal = server.refusals.shift()
      if (refusal) return refusal
      mail = { from: /<(.*?)>/.exec(line)?.[1] ?? '', to: [], message: '' }
      return '250 ok'
    },
    RCPT: (line) => {
      const recipient = /<(.*?)>/.exec(line)?.[1] ?? ''
      const refusal = server.unknown.get(recipient)
      if (refusal) return refusal
      mail.to.push(recipient)
      return '250 ok'
    },
    DATA: () => {
      isMessage = true
      return '354 send the message'
    },
    RSET: () => '250 ok',
    QUIT: () => '221 bye',
  }

  const take = (line: string): Reply => {
    if (!isMessage) return commands[line.slice(0, 4).toUpperCase()]?.(line) ?? '502 unknown'
    if (line !== '.') {
      mail.message += `${line.replace(/^\./, '')}\r\n`
      return undefined
    }
    isMessage = false
    server.mails.push(mail)
    return server.isSilent ? undefined : '250 taken'
  }

  socket.setEncoding('utf8')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const reply = take(line)
      if (reply) socket.write(`${reply}\r\n`)
    }
  })
  socket.write('220 test ESMTP\r\n')
}

export type SmtpServer = Awaited<ReturnType<typeof startSmtpServer>>

/** A small real SMTP server, which can misbehave on demand. */
export const startSmtpServer = async (port = 0) => {
  const state: State = { mails: [], refusals: [], unknown: new Map(), isSilent: false, connections: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    state.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    converse(socket, state)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    port: bound,
    url: `smtp://127.0.0.1:${bound}`,
    mails: state.mails,
    /** How many connections there were. */
    connections: () => state.connections,
    /** Answers the next mails with this. */
    refuse(count: number, reply = '451 try again later') {
      state.refusals = Array.from({ length: count }, () => reply)
    },
    /** Never takes mail to this address. */
    refuseRecipient: (address: string, reply = '550 no such user') => void state.unknown.set(address, reply),
    /** Takes mails on without ever saying so. */
    fallSilent() {
      state.isSilent = true
    },
    speak() {
      state.isSilent = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
