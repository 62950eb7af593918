// Clients that break the protocol, flood it, or do not listen.
import { afterEach, describe, expect, it } from 'vitest'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { headOf, openRaw, type RawConnection } from '../support/servers/raw-connection.ts'
import { shipped } from '../support/servers/tls.ts'
import { feedSettled, pathOfSockets, useWebSockets } from '../support/servers/web-sockets.ts'
import { useWorld } from '../support/world/world.ts'

describe('a client of the WebSocket protocol', () => {
  const world = useWorld('sqlite')
  const { connect } = useWebSockets(() => world.server.port)
  const raw: RawConnection[] = []

  afterEach(() => {
    for (const connection of raw.splice(0)) connection.end()
  })

  const open = async () => {
    const connection = await openRaw(world.server.port)
    raw.push(connection)
    return connection
  }

  const handshake = (path = pathOfSockets, ...headers: string[]) =>
    headOf(
      `GET ${path}`,
      'connection: Upgrade',
      'upgrade: websocket',
      ...(headers.length > 0
        ? headers
        : ['sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==']),
    )

  const isSwitched = (connection: RawConnection) =>
    eventually(connection.text, (text) => text.startsWith('HTTP/1.1 101 ') && text.includes('\r\n\r\n'))

  const switched = async () => {
    const connection = await open()
    await connection.write(handshake())
    await isSwitched(connection)
    return connection
  }

  const zeroMask = Buffer.alloc(4)

  /** A client frame with a mask of zeros, so that the bytes are unchanged. */
  const frame = (opcode: number, bytes: Buffer, { isMasked = true, isLast = true } = {}) => {
    const head = Buffer.alloc(10)
    head[0] = (isLast ? 0x80 : 0) | opcode
    head[1] = (isMasked ? 0x80 : 0) | 127
    head.writeBigUInt64BE(BigInt(bytes.length), 2)
    return Buffer.concat([head, isMasked ? zeroMask : Buffer.alloc(0), bytes])
  }

  const small = (opcode: number, text: string) =>
    Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length]), zeroMask, Buffer.from(text)])

  const ping = (id: string) => JSON.stringify({ action: 'ping', request_id: id })

  /** The code in the close frame that the server has sent last. */
  const closeCode = async (connection: RawConnection) => {
    await connection.closed
    const bytes = Buffer.from(connection.text(), 'latin1')
    return bytes.readUInt16BE(bytes.lastIndexOf(0x88) + 2)
  }

  it('that goes before it is switched leaves its seat to others', async () => {
    await world.configure('blackhole', { max_connections_per_ip: 3 })
    for (let turn = 0; turn < 30; turn += 1) {
      const connection = await openRaw(world.server.port)
      await connection.write(handshake())
      connection.end()
      await connection.closed
    }
    await eventually(
      async () => {
        const connection = await open()
        await connection.write(handshake())
        return eventually(connection.text, (text) => text.includes('\r\n'))
      },
      (text) => text.startsWith('HTTP/1.1 101 '),
    )
    await world.configure('blackhole', { max_connections_per_ip: 200 })
  })

  it('gets an envelope where its upgrade is broken, and its connection ends', async () => {
    for (const headers of [
      ['sec-websocket-version: 9', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='],
      ['sec-websocket-version: 13'],
      ['sec-websocket-version: 13', 'sec-websocket-key: short'],
    ]) {
      const connection = await open()
      await connection.write(handshake(pathOfSockets, ...headers))
      await connection.closed
      const [answer] = connection.answers()
      expect(answer?.status).toBe(400)
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 'error', message: 'validation error' })
    }
  })

  it('is answered as for a plain request where it asks for another protocol, or elsewhere', async () => {
    const connection = await open()
    await connection.write(headOf('GET /v2/websockets', 'connection: Upgrade', 'upgrade: h2c'))
    await connection.answered()
    await connection.write(handshake('/v2/websockets'))
    const answers = await connection.answered(2)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })

  it('is not switched behind requests that are not answered yet', async () => {
    const connection = await open()
    const get = headOf(`GET ${world.acme.path}`, `x-auth-token: ${world.ada.token}`)
    await connection.write(get + handshake())
    const answers = await connection.answered(2)
    expect(answers.map(({ status }) => status)).toEqual([200, 404])
    expect(connection.text()).not.toContain('HTTP/1.1 101')
  })

  inFullRun(() => {
    it('is cut off with half an upgrade, as with half a request', async () => {
      const connection = await open()
      await connection.write(handshake().slice(0, -10))
      await connection.closed
      expect(connection.answers().map(({ status }) => status)).toEqual([408])
    })
  })

  it('may send its first message with the upgrade', async () => {
    const connection = await open()
    await connection.write(Buffer.concat([Buffer.from(handshake()), small(1, ping('early'))]))
    await eventually(connection.text, (text) => text.includes('"request_id":"early"'))
  })

  it('is closed for a message that is larger than 1 MB, in one frame or in many', async () => {
    const [whole, many] = [await switched(), await switched()]
    await whole.write(frame(1, Buffer.alloc(1_000_001, 'x')))
    expect(await closeCode(whole)).toBe(1009)
    await many.write(frame(1, Buffer.alloc(400_000, 'x'), { isLast: false }))
    for (let part = 0; part < 2 && !many.isClosed(); part += 1)
      await many.write(frame(0, Buffer.alloc(400_000, 'x'), { isLast: false }))
    expect(await closeCode(many)).toBe(1009)
  })

  it('may send a message of 1 MB', async () => {
    const talk = await connect()
    const filling = 'x'.repeat(1_000_000 - ping('').length - 20)
    const reply = await talk.ask('ping', undefined, undefined, { filling: filling.slice(0, 990_000) })
    expect(reply.status).toBe('success')
  })

  it('is closed for frames without a mask, of no kind, in pieces without end, or that are no text', async () => {
    const cases: [Buffer, number][] = [
      [frame(1, Buffer.from(ping('a')), { isMasked: false }), 1002],
      [small(3, 'x'), 1002],
      [Buffer.concat([Buffer.from([0xc1, 0x80]), zeroMask]), 1002],
      [small(2, 'x'), 1003],
      [Buffer.concat([Buffer.from([0x81, 0x82]), zeroMask, Buffer.from([0xff, 0xfe])]), 1007],
    ]
    for (const [bytes, code] of cases) {
      const connection = await switched()
      await connection.write(bytes)
      expect([code, await closeCode(connection)]).toEqual([code, code])
    }
    const endless = await switched()
    const piece = Buffer.concat([Buffer.from([0x00, 0x80]), zeroMask])
    await endless.write(Buffer.concat([Buffer.from([0x01, 0x80]), zeroMask, ...Array(3000).fill(piece)]))
    expect(await closeCode(endless)).toBe(1008)
  })

  it('that floods it with commands has each of them answered, in order', async () => {
    await world.configure('blackhole', { max_unanswered_commands: 5 })
    const talk = await connect()
    await world.configure('blackhole', { max_unanswered_commands: 50 })
    for (let count = 0; count < 5000; count += 1) talk.send(ping(`flood ${count}`))
    await eventually(
      () => talk.said.length,
      (count) => count === 5000,
    )
    expect(talk.said.map(({ request_id: id }) => id)).toEqual(
      Array.from({ length: 5000 }, (_, count) => `flood ${count}`),
    )
  })

  it('that does not read its answers is heard no further', async () => {
    const connection = await switched()
    connection.socket.pause()
    const flood = Buffer.concat(Array(10_000).fill(small(1, ping('x'.repeat(60)))))
    let taken = 0
    const write = async () => {
      while (await connection.write(flood)) taken += flood.length
    }
    void write()
    let before = -1
    await eventually(
      () => {
        const isStill = taken === before
        before = taken
        return isStill && taken > 0
      },
      (isStill) => isStill,
    )
    expect(taken).toBeLessThan(100_000_000)
    expect((await (await connect()).ask('ping', undefined)).status).toBe('success')
  })

  it('that does not read its events loses some, and is closed when it loses more', async () => {
    const { ada, acme } = world
    await world.configure('blackhole', {
      max_queued_messages: 10,
      max_queued_bytes: 20_000,
      max_dropped_messages: 20,
    })
    const slow = await connect()
    const reply = await slow.ask('subscribe', ada.token, { account_id: acme.id, binding: 'object.*.device' })
    expect(reply.status).toBe('success')
    await world.configure('blackhole', {
      max_queued_messages: 500,
      max_queued_bytes: 50_000_000,
      max_dropped_messages: 1000,
    })
    const witness = await connect()
    await witness.ask('subscribe', ada.token, { account_id: acme.id, binding: 'object.*.device' })
    slow.socket.pause()
    // As much as the system stores for a client in its buffers, and more; in one commit, because a client that
    // has to leave has five seconds to do so.
    const edits = 400
    const set = new ChangeSet({ requestId: 'test' })
    for (let edit = 0; edit < edits; edit += 1) {
      const after = JSON.stringify({ id: `${edit}`, name: `Phone ${edit}`, notes: 'x'.repeat(60_000) })
      set.record({ accountId: acme.id, kind: 'device', id: `${edit}`, action: 'edited', before: '{}', after })
    }
    await world.server.store.commit(set)
    // When all are offered. The other client may still read them for longer than five seconds on a busy
    // machine.
    await eventually(
      async () => {
        const [{ last } = { last: null }] = await world.server.store.all<{ last: number | null }>(
          'SELECT max(sequence) AS last FROM audit_log WHERE record_id = $1',
          [`${edits - 1}`],
        )
        return Number(last ?? Number.POSITIVE_INFINITY) - world.server.feed.position()
      },
      (ahead) => ahead <= 0,
    )
    slow.socket.resume()
    expect(await slow.closed()).toEqual({
      code: 1013,
      reason: 'events were dropped: the client reads too slowly',
    })
    expect(slow.events().length).toBeLessThan(edits)
    await witness.heard(edits)
  })

  it('is served over TLS too', async () => {
    const { acme, ada } = world
    const files = { ssl_cert: shipped('first.cert.pem'), ssl_key: shipped('first.key.pem') }
    await world.configure('crossbar', { use_ssl: true, ssl_port: 0, ...files })
    const port = await eventually(
      () => world.server.tlsPort,
      (found) => found !== undefined,
    )
    await feedSettled(world.server)
    const talk = await connect(pathOfSockets, { rejectUnauthorized: false }, 'wss', port)
    expect((await talk.ask('subscribe', ada.token, { binding: 'object.*.user' })).status).toBe('success')
    const user = await world.user(acme)
    expect((await talk.heard(1))[0]?.data.id).toBe(user.id)
    await world.configure('crossbar', { use_ssl: false })
  })

  it('is pinged when it is silent, and cut off when it does not answer', async () => {
    const [deaf, alive] = [await switched(), await connect()]
    world.clock.advance({ seconds: 30 })
    await eventually(
      () => deaf.text().endsWith('\x89\x00'),
      (isPinged) => isPinged,
    )
    world.clock.advance({ seconds: 30 })
    await deaf.closed
    expect((await alive.ask('ping', undefined)).status).toBe('success')
  })
})

// Tokens expire after the hour by which the clock advances.
describe('a client that is idle', () => {
  const world = useWorld('sqlite')
  const { connect } = useWebSockets(() => world.server.port)

  it('is sent away when it wants nothing for an hour, unless it waits for events', async () => {
    const [idle, waiting] = [await connect(), await connect()]
    const forever = await world.user(world.acme)
    await waiting.ask('subscribe', await world.tokenOf(world.acme, forever.id), { binding: 'call.*.*' })
    world.clock.advance({ seconds: 3599 })
    expect((await waiting.ask('ping', undefined)).status).toBe('success')
    world.clock.advance({ seconds: 1 })
    expect(await idle.closed()).toEqual({ code: 1000, reason: 'the message has no action' })
    // Its token expires after an hour; the connection becomes idle after another hour.
    expect(waiting.isClosed()).toBe(false)
  })
})
