import sparticuz from '@sparticuz/chromium'
import type { TestProject } from 'vitest/node'
import { engines, startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's PostgreSQL; undefined when this run does not test on PostgreSQL. */
    postgresUrl: string | undefined
  }
}

/** Unpacked here once: two workers that begin with it at the same time would find each other's halves. */
const unpackBrowser = async () => {
  if (!process.env.CROSSPOINT_TEST_BROWSER) await sparticuz.executablePath()
}

export default async function setup(project: TestProject) {
  await unpackBrowser()
  if (!engines.includes('postgres')) return project.provide('postgresUrl', undefined)
  const server = await startPostgres()
  project.provide('postgresUrl', server.url)
  return server.stop
}
