import type { Socket } from 'node:net'
import pg from 'pg'
import { messageOf } from '../lib/error-facts.ts'
import { datastoreUnreachable, failure } from '../lib/failure.ts'
import { eachHostOf, hostIn } from '../lib/postgres-url.ts'

/** The socket of a connection, of which pg's types do not tell. */
export const streamOf = (client: pg.Client) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

interface Patience {
  owed: number
  timer: NodeJS.Timeout
}

/** Why a server may be silent: asked each time that patience ends, it waits for as long again. */
export type Excuse = (client: pg.Client) => Promise<boolean>

/** A network may lose a server without a word: whoever waits in vain breaks the connection, which fails all that is in flight. */
export const createWatch = (patienceMilliseconds: number, isExcused?: Excuse) => {
  const patience = new WeakMap<pg.Client, Patience>()

  const giveUp = async (client: pg.Client, state: Patience) => {
    const excused = await isExcused?.(client).catch(() => false)
    // The answer may have come meanwhile.
    if (patience.get(client) !== state) return
    if (excused) state.timer.refresh()
    else streamOf(client).destroy(new Error('the database server does not answer'))
  }

  const start = (client: pg.Client): Patience => {
    const started = {
      owed: 0,
      timer: setTimeout(() => void giveUp(client, started), patienceMilliseconds),
    }
    patience.set(client, started)
    return started
  }

  const answered = (client: pg.Client) => {
    const state = patience.get(client)
    if (!state) return
    state.owed -= 1
    if (state.owed > 0) return void state.timer.refresh()
    clearTimeout(state.timer)
    patience.delete(client)
  }

  return <T>(client: pg.Client, answer: Promise<T>): Promise<T> => {
    const state = patience.get(client) ?? start(client)
    state.owed += 1
    const settle = () => answered(client)
    answer.then(settle, settle)
    return answer
  }
}

// The one place that decides which server connections lead to: the one that takes writes, found again after a failover.

/** What one session says of its server. */
interface Standing {
  /** The process of the server behind this session, also where a pooler stands between. */
  pid: number
  isStandby: boolean
  takesWrites: boolean
  /** How often the server's history has forked, which every promotion does; 0 where there is no other host to go to. */
  timeline: number
}

interface Found {
  url: string
  timeline: number
}

export type Servers = ReturnType<typeof createServers>

// A host that is gone does not answer at all: what others say is not to wait for it.
const probeMilliseconds = 1500
/** How long others may say that they are newer, after one said that it takes writes. */
const graceMilliseconds = 150
const connectMilliseconds = 5000

const standingSql = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS is_standby,
  NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes`
const timelineSql = `SELECT CASE WHEN pg_is_in_recovery() THEN NULL
  ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline`

const standingOf = async (client: pg.Client, hasRivals: boolean): Promise<Standing> => {
  const { rows } = await client.query<{ pid: number; is_standby: boolean; takes_writes: boolean }>(
    standingSql,
  )
  const [row] = rows
  if (!row) throw new Error('the server does not say what it is')
  const history = hasRivals ? await client.query<{ timeline: string | null }>(timelineSql) : undefined
  const timeline = Number.parseInt(history?.rows[0]?.timeline ?? '0', 16)
  return { pid: row.pid, isStandby: row.is_standby, takesWrites: row.takes_writes, timeline }
}

const nothing = () => undefined

const readOnly = 'is a standby, or read-only'

/** Ends a connection that nobody uses, without waiting for it. */
const dismiss = (client: pg.Client) => void client.end().catch(nothing)

/**
 * The hosts of an address. `onMoved` is called when another one takes the writes than before, or the same one after a
 * promotion: sessions of before are of no use any more.
 */
export const createServers = (url: string, onMoved: () => void = nothing) => {
  const urls = eachHostOf(url)
  const hasRivals = urls.length > 1
  const standings = new WeakMap<pg.Client, Standing & { url: string }>()
  const watch = createWatch(connectMilliseconds)
  let last: Found | undefined
  let searching: Promise<Found> | undefined
  let isInDoubt = true
  let isMissing = false

  /** A connection that has said what its server is. */
  const knock = async (config: pg.ClientConfig, host: string, milliseconds: number) => {
    const client = new pg.Client({
      ...config,
      connectionString: host,
      keepAlive: true,
      connectionTimeoutMillis: milliseconds,
    })
    // What breaks later is told to whoever uses it as the failure of a query, or by `end`.
    client.on('error', nothing)
    try {
      await client.connect()
      const standing = await watch(client, standingOf(client, hasRivals))
      standings.set(client, { ...standing, url: host })
      return { client, standing }
    } catch (error) {
      dismiss(client)
      throw error
    }
  }

  const objectionTo = ({ isStandby, takesWrites, timeline }: Standing) => {
    // A proxy with one address may lead there for a while, and to the primary at the same time: what a standby has not heard of
    // yet would be read, and kept. A primary that is only read, where there is no other host, is served even so.
    if (isStandby || (!takesWrites && hasRivals)) return readOnly
    return timeline < (last?.timeline ?? 0) ? 'is of an older history: another was promoted' : undefined
  }

  const probe = async (host: string): Promise<Found> => {
    const { client, standing } = await knock({}, host, probeMilliseconds)
    dismiss(client)
    const objection = objectionTo(standing)
    if (objection) throw new Error(objection)
    return { url: host, timeline: standing.timeline }
  }

  /** Asks all hosts at once; of several that take writes the one that was promoted last is right. */
  const search = async (): Promise<Found> => {
    const found: Found[] = []
    const complaints: string[] = []
    const first = Promise.withResolvers<void>()
    const asking = urls.map(async (host) => {
      try {
        found.push(await probe(host))
        first.resolve()
      } catch (error) {
        complaints.push(`${hostIn(host)}: ${messageOf(error)}`)
      }
    })
    const all = Promise.all(asking)
    await Promise.race([first.promise, all])
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMilliseconds)
    await Promise.race([grace.promise, all])
    clearTimeout(timer)
    const [newest] = found.toSorted((one, other) => other.timeline - one.timeline)
    if (!newest) throw new Error(`no server takes writes (${complaints.join('; ')})`)
    return newest
  }

  const settleOn = (found: Found) => {
    const before = last
    last = found
    isInDoubt = false
    if (before && (before.url !== found.url || before.timeline !== found.timeline)) onMoved()
  }

  /** Connections that are made at the same time share one search. */
  const find = async (): Promise<Found> => {
    const [only] = urls
    if (!hasRivals && only !== undefined) return { url: only, timeline: 0 }
    if (last && !isInDoubt) return last
    searching ??= search().finally(() => {
      searching = undefined
    })
    const found = await searching
    if (isInDoubt) settleOn(found)
    return found
  }

  const connectOnce = async (config: pg.ClientConfig, prepare?: (client: pg.Client) => Promise<void>) => {
    const { url: host } = await find()
    const { client, standing } = await knock(config, host, connectMilliseconds)
    try {
      const objection = objectionTo(standing)
      if (objection) throw new Error(`${hostIn(host)} ${objection}`)
      if (hasRivals) settleOn({ url: host, timeline: standing.timeline })
      if (prepare) await watch(client, prepare(client))
      return client
    } catch (error) {
      dismiss(client)
      throw error
    }
  }

  return {
    /** A connection to the server that takes writes, prepared. Fails when there is none. */
    async connect(config: pg.ClientConfig, prepare?: (client: pg.Client) => Promise<void>) {
      try {
        const client = await connectOnce(config, prepare).catch((error) => {
          if (!hasRivals || isInDoubt) throw error
          isInDoubt = true
          return connectOnce(config, prepare)
        })
        isMissing = false
        return client
      } catch (error) {
        isInDoubt = true
        isMissing = true
        throw error
      }
    },

    /** Fails where nothing can be written: a server does not start on such a store. */
    assertTakesWrites(client: pg.Client) {
      const made = standings.get(client)
      if (made && !made.takesWrites)
        throw failure(datastoreUnreachable, {}, new Error(`${hostIn(made.url)} ${readOnly}`))
    },

    /** A connection was lost: the next one asks all hosts again. */
    doubt() {
      isInDoubt = true
    },

    /** Whether the writes have gone elsewhere since this connection was made. */
    isLeftBehind(client: pg.Client) {
      const made = standings.get(client)
      return hasRivals && (made?.url !== last?.url || made?.timeline !== last?.timeline)
    },

    /** The address of the one host that a connection leads to. */
    urlOf: (client: pg.Client) => standings.get(client)?.url ?? url,

    /** The process behind a connection, in the server's own list of them. */
    pidOf: (client: pg.Client) => standings.get(client)?.pid,

    /** Whether no server that takes writes was found when one was last looked for. */
    isMissing: () => isMissing,
  }
}
