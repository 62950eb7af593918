import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../lib/error-facts.ts'
import { datastoreFull, isFailure } from '../lib/failure.ts'
import type { CsvQuery } from './db.ts'
import { inTurn } from './in-turn.ts'
import { createCopyLink } from './postgres-copy.ts'
import { isServerError, outageOf } from './postgres-link.ts'
import { createServers } from './postgres-servers.ts'
import { makeExporting } from './postgres-sessions.ts'
import type { Numbered } from './worker-link.ts'

export interface ExporterData {
  url: string
  /** How many connections. */
  links: number
  patienceMilliseconds: number
}

/** Lines of CSV; or why the server refused the statement; or that it is away or full, and what it said of that. */
export type CopyChunk =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { refusal: string; code: string | undefined }
  | { isFull: boolean; reason: string }

// Runs in a worker thread: the lines of exports, from the connections to PostgreSQL into buffers that are handed over.
const { url, links, patienceMilliseconds }: ExporterData = workerData
const servers = createServers(url)
const nextLink = inTurn(
  Array.from({ length: links }, () =>
    createCopyLink({ servers, patienceMilliseconds, prepare: makeExporting }),
  ),
)

const verdictOn = (error: unknown): CopyChunk => {
  const verdict = outageOf(error)
  if (isServerError(verdict)) return { refusal: verdict.message, code: verdict.code }
  return { isFull: isFailure(verdict, datastoreFull), reason: messageOf(error) }
}

const answer = (query: CsvQuery): Promise<CopyChunk> =>
  nextLink()
    .lines(query)
    .then((bytes) => ({ bytes }), verdictOn)

parentPort?.on('message', async ({ number, content }: Numbered<CsvQuery>) => {
  const found = await answer(content)
  // Handed over without being copied.
  parentPort?.postMessage({ number, content: found }, 'bytes' in found ? [found.bytes.buffer] : [])
})
