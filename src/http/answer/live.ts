import type { RequestContext } from '../exchange.ts'
import { onClose } from '../wire/departures.ts'
import type { Line, LiveResponse } from './answers.ts'
import { writeHead } from './sending.ts'

// Rights are looked at again this often.
const judgeMs = 4000
// A client that does not take the last words is not waited for.
const lingerMs = 5000

/**
 * Begins an answer that has no end of its own. It ends when the client goes, when whoever asked loses the right to it
 * (`mayStill` says so), and when the server ends.
 */
export const sendLive = (
  exchange: RequestContext,
  answer: LiveResponse,
  mayStill: () => Promise<boolean>,
) => {
  const { response, request, frame } = exchange
  const { socket } = request
  const { live } = frame.life
  exchange.done = true
  writeHead(exchange, 200, { ...answer.headers, 'content-type': answer.contentType })
  response.flushHeaders()
  if (exchange.method === 'HEAD') return void response.end()
  let isOver = false
  let close = () => {}
  let forgetDeparture = () => true

  const finish = () => {
    if (isOver) return
    isOver = true
    clearInterval(judging)
    live.delete(line.end)
    forgetDeparture()
    close()
  }

  const line: Line = {
    write(text) {
      if (!isOver) response.write(text)
    },
    get waiting() {
      return response.writableLength
    },
    drained: () =>
      new Promise((resolve) => {
        if (isOver || !response.writableNeedDrain) return resolve()
        const done = () => {
          response.off('drain', done)
          stay()
          resolve()
        }
        const stay = onClose(socket, done)
        response.once('drain', done)
      }),
    end() {
      if (isOver) return
      finish()
      response.end()
      const cut = setTimeout(() => socket.destroy(), lingerMs)
      cut.unref()
      response.once('finish', () => clearTimeout(cut))
    },
  }

  const judging = setInterval(() => {
    // What cannot be judged at the moment is judged the next time.
    mayStill().then(
      (may) => void (may || line.end()),
      () => undefined,
    )
  }, judgeMs)
  judging.unref()
  // Of who has gone before nothing is heard any more.
  if (socket.destroyed) return finish()
  forgetDeparture = onClose(socket, finish)
  live.add(line.end)
  close = answer.open(line)
  // Streams have been told to go: this one was asked for before, and judged meanwhile.
  if (frame.life.isOver) line.end()
}
