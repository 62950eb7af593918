// A receiver of webhooks in JSON: takes nothing that is not signed, drops what comes again, prints the rest.
//
//   node examples/webhook-receiver.mjs [PORT] [KEY]

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const [port = '9000', key = 'a-signing-key'] = process.argv.slice(2)
const seen = new Set()

const isSigned = (header = '', body) => {
  const at = /^t=(\d+)/.exec(header)?.[1]
  const wanted = createHmac('sha256', key).update(`${at}.${body}`).digest()
  const proofs = [...header.matchAll(/v1=([0-9a-f]{64})/g)].map(([, proof]) => Buffer.from(proof, 'hex'))
  return Math.abs(Date.now() / 1000 - at) < 300 && proofs.some((proof) => timingSafeEqual(proof, wanted))
}

const server = createServer(async (request, response) => {
  const body = await text(request)
  if (!isSigned(request.headers['x-crosspoint-signature'], body)) return response.writeHead(403).end()
  const event = request.headers['x-event-id']
  if (!seen.has(event)) console.log(event, body)
  seen.add(event)
  response.writeHead(204).end()
})
server.listen(Number(port), '127.0.0.1', () => console.log(`Listening at http://127.0.0.1:${port}`))
