// Prints what happens to documents of an account, as it happens: node examples/listen.mjs ACCOUNT BINDING... [--events N]
// CROSSPOINT_URL and TOKEN say where and as whom; with --events it ends after so many.
import { WebSocket } from 'ws'

const most = process.argv.indexOf('--events')
const [account, ...bindings] = process.argv.slice(2, most < 0 ? undefined : most)
let left = most < 0 ? Number.POSITIVE_INFINITY : Number(process.argv[most + 1])
const url = (process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000').replace(/^http/, 'ws')

const socket = new WebSocket(`${url}/v2/websockets/connect`)

socket.on('open', () => {
  const data = { account_id: account, bindings }
  socket.send(
    JSON.stringify({ action: 'subscribe', auth_token: process.env.TOKEN, request_id: 'first', data }),
  )
})

socket.on('message', (bytes) => {
  const message = JSON.parse(bytes)
  if (message.status === 'error') {
    console.error(message.data.errors.join('\n'))
    process.exitCode = 1
    return socket.close()
  }
  if (message.action === 'reply') return console.log('subscribed', message.data.subscribed.join(' '))
  console.log(message.routing_key, message.data.id, message.data.doc?.name ?? '')
  left -= 1
  if (left === 0) socket.close()
})

socket.on('close', (code, reason) => {
  if (code !== 1005) console.error(`closed with ${code} ${reason}`)
})
