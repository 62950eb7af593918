// Prints what happens in an account, as it happens, and goes on where it was when the line breaks:
//
//   node examples/follow.mjs ACCOUNT [TYPES] [--events N]
//
// TYPES: user.*,number.bought. CROSSPOINT_URL and TOKEN name the server and the user; with --events it ends after that number of events.

import { signIn } from './crosspoint.mjs'

const most = process.argv.indexOf('--events')
const [accountId, types] = process.argv.slice(2, most < 0 ? undefined : most)
let left = most < 0 ? Number.POSITIVE_INFINITY : Number(process.argv[most + 1])

const crosspoint = await signIn({ token: process.env.TOKEN })
const onState = (state) => console.error(state === 'live' ? `following ${accountId}` : state)
for await (const event of crosspoint.follow({ accountId, types: types?.split(','), after: 'now', onState })) {
  const { at, type, actor, record, after } = event
  const time = new Date((at - 62167219200) * 1000).toISOString()
  console.log(time, type, record.id, after?.name ?? after?.username ?? '', 'by', actor.id ?? actor.type)
  left -= 1
  if (left === 0) break
}
