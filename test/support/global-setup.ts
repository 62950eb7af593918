import type { TestProject } from 'vitest/node'
import { engines, startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's PostgreSQL; undefined when this run does not test on PostgreSQL. */
    postgresUrl: string | undefined
  }
}

export default async function setup(project: TestProject) {
  if (!engines.includes('postgres')) return project.provide('postgresUrl', undefined)
  const server = await startPostgres()
  project.provide('postgresUrl', server.url)
  return server.stop
}
