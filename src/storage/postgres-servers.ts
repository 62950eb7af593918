import type { Socket } from 'node:net'
import pg from 'pg'
import { messageOf } from '../lib/error-facts.ts'
import { datastoreUnreachable, failure } from '../lib/failure.ts'
import { eachHostOf, hostIn } from '../lib/postgres-url.ts'

/** Not in the types of pg. */
export const streamOf = (client: pg.Client) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

interface Patience {
  owed: number
  timer: NodeJS.Timeout
}

/** Whether to wait longer for a silent server. */
export type Excuse = (client: pg.Client) => Promise<boolean>

/** Breaks a connection whose server does not respond: a network may lose it silently. */
export const createWatch = (patienceMilliseconds: number, isExcused?: Excuse) => {
  const patience = new WeakMap<pg.Client, Patience>()

  const giveUp = async (client: pg.Client, state: Patience) => {
    const excused = await isExcused?.(client).catch(() => false)
    // The response may have come.
    if (patience.get(client) !== state) return
    if (excused) state.timer.refresh()
    else streamOf(client).destroy(new Error('the database server does not respond'))
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

// Finds the server that takes writes, again after a failover.

interface Standing {
  /** The process ID of the server, also behind a pooler. */
  pid: number
  isStandby: boolean
  takesWrites: boolean
  /** Grows with every promotion; 0 with only one host. */
  timeline: number
}

interface ReachedServer {
  url: string
  timeline: number
}

export type Servers = ReturnType<typeof createServers>

// A host that is down does not respond: the others must not wait for it.
const probeMilliseconds = 1500
/** Time for other hosts to report a newer timeline. */
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
  if (!row) throw new Error('the server does not report its role')
  const history = hasRivals ? await client.query<{ timeline: string | null }>(timelineSql) : undefined
  const timeline = Number.parseInt(history?.rows[0]?.timeline ?? '0', 16)
  return { pid: row.pid, isStandby: row.is_standby, takesWrites: row.takes_writes, timeline }
}

const nothing = () => undefined

const readOnly = 'is a standby, or read-only'

const dismiss = (client: pg.Client) => void client.end().catch(nothing)

/** Asks all hosts at once; the one promoted last wins. */
const search = async (
  urls: readonly string[],
  probe: (host: string) => Promise<ReachedServer>,
): Promise<ReachedServer> => {
  const found: ReachedServer[] = []
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
  if (!newest) throw new Error(`no server accepts writes (${complaints.join('; ')})`)
  return newest
}

/** `onMoved` is called when another server takes the writes, or the same one after a promotion: older sessions are useless. */
export const createServers = (url: string, onMoved: () => void = nothing) => {
  const urls = eachHostOf(url)
  const hasRivals = urls.length > 1
  const standings = new WeakMap<pg.Client, Standing & { url: string }>()
  const watch = createWatch(connectMilliseconds)
  let last: ReachedServer | undefined
  let searching: Promise<ReachedServer> | undefined
  let isInDoubt = true
  let isMissing = false

  const knock = async (config: pg.ClientConfig, host: string, milliseconds: number) => {
    const client = new pg.Client({
      ...config,
      connectionString: host,
      keepAlive: true,
      connectionTimeoutMillis: milliseconds,
    })
    // Later errors reach the user of the connection by queries or `end`.
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
    // A proxy may connect to a standby for a while: stale rows would be cached. A read-only primary without another host is accepted.
    if (isStandby || (!takesWrites && hasRivals)) return readOnly
    return timeline < (last?.timeline ?? 0) ? 'has an older timeline: another server was promoted' : undefined
  }

  const probe = async (host: string): Promise<ReachedServer> => {
    const { client, standing } = await knock({}, host, probeMilliseconds)
    dismiss(client)
    const objection = objectionTo(standing)
    if (objection) throw new Error(objection)
    return { url: host, timeline: standing.timeline }
  }

  const settleOn = (found: ReachedServer) => {
    const before = last
    last = found
    isInDoubt = false
    if (before && (before.url !== found.url || before.timeline !== found.timeline)) onMoved()
  }

  /** Parallel connections share one search. */
  const find = async (): Promise<ReachedServer> => {
    const [only] = urls
    if (!hasRivals && only !== undefined) return { url: only, timeline: 0 }
    if (last && !isInDoubt) return last
    searching ??= search(urls, probe).finally(() => {
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

    assertTakesWrites(client: pg.Client) {
      const made = standings.get(client)
      if (made && !made.takesWrites)
        throw failure(datastoreUnreachable, {}, new Error(`${hostIn(made.url)} ${readOnly}`))
    },

    /** Asks all hosts before the next connection. */
    doubt() {
      isInDoubt = true
    },

    /** Whether another server takes the writes now. */
    isLeftBehind(client: pg.Client) {
      const made = standings.get(client)
      return hasRivals && (made?.url !== last?.url || made?.timeline !== last?.timeline)
    },

    urlOf: (client: pg.Client) => standings.get(client)?.url ?? url,

    pidOf: (client: pg.Client) => standings.get(client)?.pid,

    isMissing: () => isMissing,
  }
}
