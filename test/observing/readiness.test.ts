import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createReadiness } from '../../src/http/transport/readiness.ts'
import { datastoreUnreachable, type Failure, failure } from '../../src/lib/failure.ts'
import type { StoreTrouble } from '../../src/storage/db.ts'
import { eventually } from '../support/run/eventually.ts'
import { buildWorld, describeAnyEngine, type World } from '../support/world/world.ts'

const ready = async ({ anonymous }: World) => {
  const { status, text } = await anonymous.get('/readyz')
  return { status, text: text.trim() }
}

const turns = (world: World, wanted: number) =>
  eventually(
    () => ready(world),
    ({ status }) => status === wanted,
  )

// The server may be writing.
const lockMs = 60_000

/** Another client of the store, which blocks all writers until `release` is called. */
const holdUp = async ({ engine, place }: World) => {
  if (engine === 'sqlite') {
    const other = new DatabaseSync(join(place.dataDir, 'crosspoint.db'), { timeout: lockMs })
    other.exec('BEGIN IMMEDIATE')
    return async () => {
      other.exec('ROLLBACK')
      other.close()
    }
  }
  const client = new pg.Client({ connectionString: place.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE leases IN ACCESS EXCLUSIVE MODE')
  return () => client.end()
}

/**
 * Runs statements directly in the database, and ends all its connections, so that the next ones find it
 * changed.
 */
const alter = async ({ place }: World, alteration: string) => {
  const url = new URL(place.databaseUrl ?? '')
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query(`ALTER DATABASE ${name} ${alteration}`)
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
    [name],
  )
  await client.end()
}

describeAnyEngine('readiness', (engine) => {
  it('is lost while the writer is stuck, and found again', async () => {
    const world = await buildWorld(engine)
    expect(await ready(world)).toEqual({ status: 200, text: 'ready' })
    const release = await holdUp(world)
    const { text } = await turns(world, 503)
    expect(text).toMatch(/has not responded for 5 s$|another process has been writing for too long$/)
    expect((await world.anonymous.get('/healthz')).status).toBe(200)
    await release()
    expect(await turns(world, 200)).toEqual({ status: 200, text: 'ready' })
    await world.close()
  })

  it('leaves no trace in the store, however often it is asked', async () => {
    const world = await buildWorld(engine)
    const commits = async () => {
      if (engine !== 'sqlite') return 0
      const [row] = await world.server.store.all<{ sum: number }>('SELECT sum(commits) AS sum FROM writers')
      return row?.sum
    }
    // Scheduled jobs of the first seconds write as well.
    await world.server.scheduler.runNow('quantities')
    await world.unchanged(async () => {
      const before = await commits()
      expect(await ready(world)).toEqual({ status: 200, text: 'ready' })
      expect(await world.server.store.writeObstacle()).toBeUndefined()
      expect(Number(await commits()) - Number(before)).toBeLessThanOrEqual(1)
    })
    await world.close()
  })

  it.runIf(engine === 'postgres')('is lost while PostgreSQL takes no writes', async () => {
    const world = await buildWorld(engine)
    await alter(world, 'SET default_transaction_read_only = on')
    // The first text follows the refused write, the second one follows the search for another connection.
    expect((await turns(world, 503)).text).toMatch(
      /^the store cannot be written: (it is read-only, or a standby|no server of the database takes writes)$/,
    )
    // The server still serves reads. A failed write is not an internal error here.
    expect((await world.ada.get(world.acme.path)).status).toBe(200)
    const refused = await world.ada.patch(world.acme.path, { timezone: 'Europe/Berlin' })
    expect(refused).toFailWith(503, 'datastore_unreachable')
    await alter(world, 'RESET default_transaction_read_only')
    expect(await turns(world, 200)).toEqual({ status: 200, text: 'ready' })
    world.takeErrors()
    await world.close()
  })

  it.runIf(engine === 'postgres')('is lost while PostgreSQL refuses connections', async () => {
    const world = await buildWorld(engine)
    await alter(world, 'WITH ALLOW_CONNECTIONS false')
    expect((await turns(world, 503)).text).toMatch(/^the store /)
    await alter(world, 'WITH ALLOW_CONNECTIONS true')
    expect(await turns(world, 200)).toEqual({ status: 200, text: 'ready' })
    world.takeErrors()
    await world.close()
  })
})

interface Counted {
  asked: number
  outages: number
  /** Why it cannot be read. */
  fault: Failure | undefined
  obstacle: string | undefined
  trouble: StoreTrouble | undefined
  gate: Promise<void>
}

/** A store that counts the queries, and responds on command. */
const countedStore = () => {
  const state: Counted = {
    asked: 0,
    outages: 0,
    fault: undefined,
    obstacle: undefined,
    trouble: undefined,
    gate: Promise.resolve(),
  }
  return {
    state,
    store: {
      async all() {
        if (state.fault) throw state.fault
        return []
      },
      state: () => state.trouble,
      outages: () => state.outages,
      async writeObstacle() {
        state.asked += 1
        await state.gate
        return state.obstacle
      },
    },
  }
}

const life = () => ({ isEnding: false, isOver: false, live: new Set<() => void>() })

describe('whether a server is ready', () => {
  it('is one question to the store, however many ask', async () => {
    const { state, store } = countedStore()
    const { obstacle } = createReadiness({ store, life: life(), freeBytes: undefined })
    expect(await Promise.all(Array.from({ length: 50 }, obstacle))).toEqual(Array(50).fill(undefined))
    expect(await obstacle()).toBeUndefined()
    expect(state.asked).toBe(1)
  })

  it('is checked again as soon as a write has failed', async () => {
    const { state, store } = countedStore()
    const { obstacle } = createReadiness({ store, life: life(), freeBytes: undefined })
    expect(await obstacle()).toBeUndefined()
    state.outages = 1
    state.obstacle = 'its disk is full'
    expect(await obstacle()).toBe('the store cannot be written: its disk is full')
  })

  it.each([
    [
      '57P03',
      'the database system is starting up',
      'the store cannot be read: it is starting, stopping or recovering',
    ],
    [
      '57P03',
      'the database system is in recovery mode',
      'the store cannot be read: it is starting, stopping or recovering',
    ],
    [
      '',
      'no server accepts writes (a:5432: the database system is shutting down)',
      'the store cannot be read: it is starting, stopping or recovering',
    ],
    [
      '53300',
      'sorry, too many clients already',
      'the store cannot be read: it is out of memory or connections',
    ],
    [
      '58030',
      'could not read file "base/1/2": I/O error',
      'the store cannot be read: its disk reports errors',
    ],
    ['ECONNREFUSED', 'connect ECONNREFUSED 192.0.2.7:5432', 'the store does not respond'],
  ])('reports why a store cannot be read (%s %s), without details', async (code, message, says) => {
    const { state, store } = countedStore()
    state.fault = failure(datastoreUnreachable, {}, Object.assign(new Error(message), { code }))
    const readiness = createReadiness({ store, life: life(), freeBytes: undefined })
    expect(await readiness.obstacle()).toBe(says)
  })

  it('reports the trouble that the store has found', async () => {
    const { state, store } = countedStore()
    const { obstacle } = createReadiness({ store, life: life(), freeBytes: undefined })
    state.obstacle = 'its disk is full'
    state.trouble = 'standby_missing'
    expect(await obstacle()).toBe('the store cannot be written: the synchronous standby does not confirm')
  })

  it('is not waited for longer than its timeout, and has one check at a time', async () => {
    const { state, store } = countedStore()
    const gate = Promise.withResolvers<void>()
    state.gate = gate.promise
    const { obstacle } = createReadiness({ store, life: life(), freeBytes: undefined, patienceMs: 30 })
    expect(await obstacle()).toBe('the store has not responded for 1 s')
    expect(await obstacle()).toBe('the store has not responded for 1 s')
    expect(state.asked).toBe(1)
    gate.resolve()
    expect(await eventually(obstacle, (found) => found === undefined)).toBeUndefined()
  })

  it.each([
    [31, "the store's disk has 31 MB left, and needs 32"],
    [32, undefined],
  ])('depends on the disk: with %i MB left it is %s', async (megabytes, says) => {
    const { store } = countedStore()
    const freeBytes = async () => megabytes * 1024 * 1024
    const { obstacle } = createReadiness({ store, life: life(), freeBytes })
    expect(await obstacle()).toBe(says)
  })

  it('is over at once when the server is shutting down', async () => {
    const { store } = countedStore()
    const ending = life()
    const { obstacle } = createReadiness({ store, life: ending, freeBytes: undefined })
    expect(await obstacle()).toBeUndefined()
    ending.isEnding = true
    expect(await obstacle()).toBe('the server is shutting down')
  })
})
