import { readdirSync, readFileSync } from 'node:fs'

/** What was asked of an operation, and answered: JSON bodies. */
export interface Example {
  request?: unknown
  answer?: unknown
}

const folder = new URL('examples/', import.meta.url)

/** By operation. Each file holds those of a tag; the tests write them from what a server answered. */
export const readExamples = (): Readonly<Record<string, Example>> =>
  Object.assign(
    {},
    ...readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as object),
  )
