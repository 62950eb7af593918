import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ReceivedMail {
  from: string
  to: string[]
  /** Headers and body, as they came. */
  message: string
}

type Reply = string | undefined

/** One conversation: commands in, replies out; between DATA and a lone dot, a message. */
const converse = (socket: Socket, server: { mails: ReceivedMail[]; refusals: number }) => {
  let rest = ''
  let mail: ReceivedMail = { from: '', to: [], message: '' }
  let isMessage = false

  const commands: Record<string, (line: string) => Reply> = {
    EHLO: () => '250-test\r\n250 8BITMIME',
    HELO: () => '250 test',
    MAIL: (line) => {
      if (server.refusals > 0) {
        server.refusals -= 1
        return '451 try again later'
      }
      mail = { from: /<(.*?)>/.exec(line)?.[1] ?? '', to: [], message: '' }
      return '250 ok'
    },
    RCPT: (line) => {
      mail.to.push(/<(.*?)>/.exec(line)?.[1] ?? '')
      return '250 ok'
    },
    DATA: () => {
      isMessage = true
      return '354 go on'
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
    return '250 taken'
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

/** A small real SMTP server, which can be told to refuse the next mails for now. */
export const startSmtpServer = async () => {
  const state: { mails: ReceivedMail[]; refusals: number } = { mails: [], refusals: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    converse(socket, state)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails: state.mails,
    refuse(count: number) {
      state.refusals = count
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
