import { readdirSync, readFileSync } from 'node:fs'

/** A request that a test executed, and the response. Bodies of images and other binary files are in base64. */
export interface Example {
  request?: unknown
  /** Media type of the request. Absent: JSON. */
  requestType?: string
  answer?: unknown
  /** Media type of the response. Absent: JSON. */
  answerType?: string
  /** Status of the response, if the operation never succeeds. */
  refusal?: number
}

const folder = new URL('examples/', import.meta.url)

/** By operation. Each file holds those of a tag; the tests write them from what a server answered. */
export const readExamples = (): Readonly<Record<string, Example>> =>
  Object.assign(
    {},
    ...readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as object),
  )
