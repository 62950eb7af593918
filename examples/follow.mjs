// Prints what happens in an account, as it happens, and goes on where it was when the line breaks:
//
//   node examples/follow.mjs ACCOUNT [TYPES] [--events N]
//
// TYPES: user.*,number.bought. CROSSPOINT_URL and TOKEN say where and as whom; with --events it ends after so many.
import { setTimeout as sleep } from 'node:timers/promises'

const most = process.argv.indexOf('--events')
const [account, types] = process.argv.slice(2, most < 0 ? undefined : most)
let left = most < 0 ? Number.POSITIVE_INFINITY : Number(process.argv[most + 1])
const base = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'
const url = `${base}/v2/accounts/${account}/events?after=now${types ? `&type=${types}` : ''}`
let last

const print = (message) => {
  const fields = Object.fromEntries(message.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
  // Comments keep the line open; who is told that it lags comes back behind what it has.
  if (!fields.data || fields.event === 'lagging') return
  last = fields.id
  const { at, type, actor, record, after } = JSON.parse(fields.data)
  const time = new Date((at - 62167219200) * 1000).toISOString()
  console.log(time, type, record.id, after?.name ?? after?.username ?? '', 'by', actor.id ?? actor.type)
  left -= 1
}

while (left > 0) {
  const headers = { accept: 'text/event-stream', 'x-auth-token': process.env.TOKEN }
  try {
    const answer = await fetch(url, { headers: last ? { ...headers, 'last-event-id': last } : headers })
    if (!answer.ok) throw new Error(`refused: ${answer.status} ${await answer.text()}`)
    console.error('following', account)
    let text = ''
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      const messages = (text + piece).split('\n\n')
      text = messages.pop()
      for (const message of messages) if (left > 0) print(message)
      if (left <= 0) break
    }
  } catch (error) {
    console.error(error.message)
    if (error.message.startsWith('refused')) process.exit(1)
  }
  if (left > 0) await sleep(1000)
}
