// A stand-in for an operator's own billing system: takes what a bookkeeper of type `http` posts, charges nobody, and
// prints what came. For trying things out.
//
//   node examples/bookkeeper.mjs [PORT] [SIGNING_SECRET]

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const [port = '9000', secret = 'a-signing-secret'] = process.argv.slice(2)

/** Results by idempotency key: the same key gets the same response. */
const moved = new Map()

const isSigned = (header, body) => {
  const [, at, proof] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? []
  if (!proof) return false
  const wanted = createHmac('sha256', secret).update(`${at}.${body}`).digest()
  return timingSafeEqual(wanted, Buffer.from(proof, 'hex'))
}

const answerTo = ({ operation, idempotency_key: key, amount, account_id: account, items }) => {
  if (operation === undefined) {
    console.log(`${account} is billed for ${Object.keys(items).join(', ') || 'nothing'}`)
    return [200, {}]
  }
  if (operation === 'lookup' && !moved.has(key)) return [404, { status: 'not_found' }]
  if (!moved.has(key)) {
    moved.set(key, { status: 'succeeded', id: `m-${moved.size + 1}` })
    console.log(`${operation} of ${amount} dollars for ${account}`)
  }
  return [200, moved.get(key)]
}

const server = createServer(async (request, response) => {
  const body = await text(request)
  const known = isSigned(request.headers['x-crosspoint-signature'], body)
  const [status, data] = known ? answerTo(JSON.parse(body)) : [403, { status: 'forged' }]
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data))
})

server.on('error', ({ message }) => {
  console.error(`bookkeeper: ${message}`)
  process.exitCode = 1
})
server.listen(Number(port), '127.0.0.1', () => console.log(`Listening at http://127.0.0.1:${port}`))
