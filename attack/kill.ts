// Kills backends of a database, as a failing machine would.
import { Client } from 'pg'

const everyMs = 3000

export type Killer = Awaited<ReturnType<typeof startKilling>>

export const startKilling = async (databaseUrl: string) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  let killedAt: number | undefined
  let kills = 0
  let isActive = false
  const kill = async () => {
    if (!isActive) return
    // Responses of what it cuts may come before its own.
    killedAt = performance.now()
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`,
    )
    killedAt = performance.now()
    kills += rowCount ?? 0
  }
  const killing = setInterval(() => void kill().catch(() => undefined), everyMs)
  return {
    /** Only what is fuzzed meets it: what was committed under a cut connection cannot be asked for once more. */
    setActive(is: boolean) {
      isActive = is
    },
    sinceKill: () => (killedAt === undefined ? undefined : performance.now() - killedAt),
    kills: () => kills,
    async stop() {
      clearInterval(killing)
      await client.end()
    },
  }
}
