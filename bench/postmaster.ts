// The processor time of a PostgreSQL on this machine.
import { readdir, readFile } from 'node:fs/promises'
import { Client } from 'pg'
import { ticksPerSecond } from './server.ts'

/** The fields of a process in Linux, from its state on; empty if it does not exist. */
const statOf = async (pid: number | string) => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

const parentAt = 1
// User and system time of a process, and those of its children that have ended.
const timesAt = [11, 15] as const

const ticksOf = (fields: readonly string[]) =>
  fields.slice(...timesAt).reduce((sum, ticks) => sum + Number(ticks), 0)

/** Processor time of a server with all its processes, also those that have ended; NaN where it is not on this machine. */
export const postmasterSeconds = async (postmaster: number | undefined) => {
  if (postmaster === undefined) return Number.NaN
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(names.map(statOf))
  const children = stats.filter((fields) => Number(fields[parentAt]) === postmaster)
  const own = ticksOf(await statOf(postmaster))
  return children.reduce((sum, fields) => sum + ticksOf(fields), own) / ticksPerSecond
}

/** The process behind all processes of the server at this address, if it runs here. */
export const postmasterOf = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const name = await readFile(`/proc/${rows[0].pid}/comm`, 'utf8').catch(() => '')
  const postmaster = name.startsWith('postgres') ? Number((await statOf(rows[0].pid))[parentAt]) : undefined
  await client.end()
  return postmaster
}
