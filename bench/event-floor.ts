// Runs in a child process: the least that any server spends on streams that stay open. A POST sends its body to all.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { serveParent } from './parent.ts'

const streams = new Set<ServerResponse>()

const server = createServer(async (request, response) => {
  if (request.method === 'POST') {
    const message = await text(request)
    for (const stream of streams) stream.write(message)
    return void response.end()
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(':\n\n')
  streams.add(response)
  response.once('close', () => streams.delete(response))
})

/** Answers with its port. */
serveParent<object, number>(
  () =>
    new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    }),
)
