// Room for the bytes of answers that clients have not taken yet.
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createInFlight } from '../../src/http/throttle/in-flight.ts'

it('is not taken by an answer that stopped waiting for it', async () => {
  const inFlight = createInFlight()
  const room = { bytesOfOne: 10, bytesOfAll: 100, waitMilliseconds: 0 }
  const giveBack = inFlight.claim('a', 10, room, new PassThrough())
  await expect(inFlight.reserve('a', 10, room, new PassThrough())).rejects.toMatchObject({
    kind: { name: 'too_many_requests' },
  })
  giveBack()
  inFlight.claim('a', 10, room, new PassThrough())()
})
