// Connections that are opened, held and broken to keep others out.
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { headOf, openRaw, type RawConnection } from '../support/servers/raw-connection.ts'
import { useWorld, type World } from '../support/world/world.ts'

const useConnections = (world: World) => {
  const open: RawConnection[] = []

  afterEach(() => {
    for (const connection of open.splice(0)) connection.end()
  })

  return async () => {
    const connection = await openRaw(world.server.port)
    open.push(connection)
    return connection
  }
}

const plainGet = headOf('OPTIONS /v2/users')
const isServed = async (connection: RawConnection) => {
  await connection.write(plainGet)
  await eventually(
    () => connection.isClosed() || connection.answers().length > 0,
    (isOver) => isOver,
  )
  return connection.answers().length > 0
}

const leave = (connection: RawConnection) => {
  connection.end()
  return connection.closed
}

const many = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make))

describe('connections', () => {
  const world = useWorld('sqlite')
  const connect = useConnections(world)

  const withSettings = async (values: Record<string, unknown>, act: () => Promise<void>) => {
    const before = {
      max_connections: 10_000,
      max_connections_per_address: 1000,
      reverse_proxies: ['127.0.0.1'],
    }
    await world.configure('crossbar', values)
    try {
      await act()
    } finally {
      await world.configure('crossbar', before)
    }
  }

  /** Opens 40 connections, and returns the served ones as soon as the lower limit applies. */
  const tried = () =>
    eventually(
      async () => {
        const all = await many(40, connect)
        const served = await Promise.all(all.map(isServed))
        const taken = all.filter((_, index) => served[index])
        if (taken.length === all.length) await Promise.all(taken.map(leave))
        return taken
      },
      ({ length }) => length < 40,
    )

  const servesAgain = () =>
    eventually(
      async () => isServed(await connect()),
      (isIn) => isIn,
    )

  it('of one address are limited, and a closed one makes place for another', async () => {
    const strangers = { reverse_proxies: ['192.0.2.1'] }
    // A complaint of another test is so old that the server complains again.
    world.clock.advance({ minutes: 10 })
    await withSettings({ ...strangers, max_connections_per_address: 20 }, async () => {
      const taken = await tried()
      expect(taken.length).toBeLessThanOrEqual(20)
      await eventually(
        async () => isServed(await connect()),
        (isIn) => !isIn,
      )
      await Promise.all(taken.slice(0, 1).map(leave))
      await servesAgain()
    })
    expect(world.logEntries).toContainEqual({
      level: 'warn',
      message: 'connections are refused',
      fields: { limit: 'max_connections_per_address', largest: 20, client_address: '127.0.0.1' },
    })
  })

  it('of a trusted proxy are as many as it likes', async () => {
    await withSettings({ max_connections_per_address: 5 }, async () => {
      const served = await Promise.all((await many(40, connect)).map(isServed))
      expect(served).toEqual(Array(40).fill(true))
    })
  })

  it('are limited in total, whatever their addresses', async () => {
    await withSettings({ max_connections: 20 }, async () => {
      // The tests' own clients have some of them.
      expect((await tried()).length).toBeLessThanOrEqual(20)
    })
    await servesAgain()
  })

  it('whose headers never end are closed, all of them', async () => {
    const slow = await many(200, connect)
    for (const connection of slow) await connection.write('GET /v2/users HTTP/1.1\r\nhost: te')
    await Promise.all(slow.map(({ closed }) => closed))
    for (const connection of slow) {
      const [answer] = connection.answers()
      expect(answer?.status).toBe(408)
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 'error', error: '408' })
    }
  })
})

describe('the rest of a refused body', () => {
  const world = useWorld('sqlite')
  const connect = useConnections(world)
  const refused = (...headers: string[]) => headOf(`PUT ${world.acme.path}/users`, ...headers)

  it('is read and discarded when it is short, and the connection stays open', async () => {
    const connection = await connect()
    await connection.write(refused('content-length: 1000000'))
    const [answer] = await connection.answered()
    expect(answer?.status).toBe(401)
    expect(answer?.head).not.toContain('connection: close')
    await connection.write(Buffer.alloc(1_000_000, 'x'))
    await connection.write(plainGet)
    expect((await connection.answered(2))[1]?.status).toBe(200)
  })

  it('ends the connection when it would be long, and its sender has the answer', async () => {
    const connection = await connect()
    await connection.write(refused('content-length: 7000000', 'content-type: text/csv'))
    await connection.answered()
    const long = await connect()
    const path = `${world.acme.path}/tasks?category=number_management&action=import`
    await long.write(headOf(`PUT ${path}`, 'content-length: 900000000', 'content-type: text/csv'))
    await long.write(Buffer.alloc(3_000_000, 'x'))
    const [answer] = await long.answered()
    expect(answer?.status).toBe(401)
    expect(answer?.head).toContain('connection: close')
    long.end()
  })

  it('is not read for ever', async () => {
    const connection = await connect()
    await connection.write(refused('transfer-encoding: chunked'))
    const piece = Buffer.alloc(1_000_000, 'x')
    const chunk = Buffer.concat([Buffer.from('f4240\r\n'), piece, Buffer.from('\r\n')])
    let taken = 0
    // Data in buffers between the two counts as taken.
    while (taken < 100 && (await connection.write(chunk))) taken += 1
    await connection.closed
    expect(taken).toBeLessThan(60)
    expect(connection.answers().map(({ status }) => status)).toEqual([401])
  })

  it('is not waited for without end', async () => {
    const [known, unknown] = [await connect(), await connect()]
    await known.write(refused('content-length: 1000000'))
    await unknown.write(`${refused('transfer-encoding: chunked')}11170\r\n${'x'.repeat(70_000)}\r\n`)
    await Promise.all([known.closed, unknown.closed])
    for (const { answers } of [known, unknown]) expect(answers().map(({ status }) => status)).toEqual([401])
  })
})

describe('a request head that is too large', () => {
  const world = useWorld('sqlite')
  const connect = useConnections(world)

  const long = (length: number) => `/v2/${'a'.repeat(length)}`
  const inEnvelope = (body: string | undefined) => JSON.parse(body ?? '') as Record<string, unknown>

  it('because of its URL is 414, and the connection stays open', async () => {
    const connection = await connect()
    await connection.write(headOf(`GET ${long(20_000)}`) + plainGet)
    const [answer, next] = await connection.answered(2)
    expect(answer?.status).toBe(414)
    expect(inEnvelope(answer?.body)).toMatchObject({
      status: 'error',
      error: '414',
      message: 'uri_too_long',
      data: { message: 'the URL is longer than 16000 characters', target: 16_000 },
    })
    expect(next?.status).toBe(200)
  })

  it.each([
    ['URL', 414, headOf(`GET ${long(60_000)}`)],
    ['headers', 431, headOf('GET /healthz', `x-long: ${'a'.repeat(60_000)}`)],
    ['headers', 431, headOf('GET /healthz', ...Array<string>(4000).fill('x-short: a'))],
  ])(
    'because of much too long %s is %i, and the last answer of its connection',
    async (_what, status, text) => {
      const connection = await connect()
      await connection.write(text)
      await connection.closed
      const [answer] = connection.answers()
      expect(answer?.status).toBe(status)
      expect(answer?.head).toContain('connection: close')
      expect(inEnvelope(answer?.body)).toMatchObject({ status: 'error', error: String(status) })
    },
  )

  const pieces = [1, 7, 1000, 16_384, 65_536]
  const lengths = [15_000, 16_001, 31_000, 32_000, 33_000, 70_000, 200_000]

  it('gets one whole answer and nothing behind it, in whatever pieces it comes', async () => {
    const strange: string[] = []
    for (const length of lengths) {
      for (const size of pieces.filter((piece) => length / piece < 5000)) {
        const text = `${headOf(`POST ${long(length)}`, 'content-length: 4')}{"a"`
        const connection = await connect()
        for (let at = 0; at < text.length && !connection.isClosed(); at += size)
          await connection.write(text.slice(at, at + size))
        await connection.write(plainGet)
        const seen = await eventually(
          () => ({
            closed: connection.isClosed(),
            statuses: connection.answers().map(({ status }) => status),
          }),
          ({ closed, statuses }) => closed || statuses.length === 2,
        )
        const isLast = connection.answers()[0]?.head.includes('connection: close')
        const isWhole = connection.rest() === '' && seen.statuses.length === (isLast ? 1 : 2)
        const isRefused = [400, 414, 431].includes(seen.statuses[0] ?? 0)
        if (!isWhole || !isRefused) strange.push(`${length} in pieces of ${size}: ${JSON.stringify(seen)}`)
        connection.end()
      }
    }
    expect(strange).toEqual([])
  })

  it('waits behind the answers to the requests before it', async () => {
    const account = headOf(`GET ${world.acme.path}`, `x-auth-token: ${world.ada.token}`)
    for (const broken of [headOf(`GET ${long(60_000)}`), 'LOL\r\n\r\n']) {
      const connection = await connect()
      await connection.write(account + account + account + broken)
      await connection.closed
      const statuses = connection.answers().map(({ status }) => status)
      expect(statuses.slice(0, 3)).toEqual([200, 200, 200])
      expect([400, 414, 431]).toContain(statuses[3])
      expect(connection.rest()).toBe('')
    }
  })

  it('is not carried out, nor is a request behind a broken one', async () => {
    const before = await world.snapshot()
    const body = JSON.stringify({ data: { first_name: 'A', last_name: 'B' } })
    const put = headOf(
      `PUT ${world.acme.path}/users`,
      `x-auth-token: ${world.ada.token}`,
      `content-length: ${body.length}`,
    )
    const connection = await connect()
    await connection.write(headOf(`GET ${long(60_000)}`) + put + body)
    await connection.closed
    expect(await world.snapshot()).toEqual(before)
  })

  it('in a body that turns out to be broken adds nothing to the answer that was given', async () => {
    const connection = await connect()
    await connection.write(headOf(`PUT ${world.acme.path}/users`, 'transfer-encoding: chunked'))
    await connection.write(`11170\r\n${'x'.repeat(70_000)}\r\n`)
    await connection.answered()
    await connection.write('this is no chunk\r\n')
    await connection.closed
    expect(connection.answers().map(({ status }) => status)).toEqual([401])
    expect(connection.rest()).toBe('')
  })
})
