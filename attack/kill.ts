// Kills backends of a database, as a failing machine would.
import { Client } from 'pg'

const everyMs = 3000

export const startKilling = async (databaseUrl: string) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  let killedAt: number | undefined
  let kills = 0
  const kill = async () => {
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`,
    )
    if (!rowCount) return
    killedAt = performance.now()
    kills += 1
  }
  const killing = setInterval(() => void kill().catch(() => undefined), everyMs)
  return {
    sinceKill: () => (killedAt === undefined ? undefined : performance.now() - killedAt),
    kills: () => kills,
    async stop() {
      clearInterval(killing)
      await client.end()
    },
  }
}
