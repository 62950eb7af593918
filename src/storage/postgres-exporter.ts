import { parentPort, workerData } from 'node:worker_threads'
import type { CsvQuery } from './csv-lines.ts'
import { inTurn } from './in-turn.ts'
import { createCopyLink } from './postgres-copy.ts'
import { isServerError } from './postgres-link.ts'
import { createServers } from './postgres-servers.ts'
import { makeExporting } from './postgres-sessions.ts'
import type { Numbered } from './worker-link.ts'

export interface ExporterData {
  url: string
  /** How many connections. */
  links: number
  patienceMilliseconds: number
}

/** Lines of CSV; or why the server refused the statement; or how it was lost. */
export type CopyAnswer =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { refusal: string; code: string | undefined }
  | { loss: string }

// Runs in a worker thread: the lines of exports, from the connections to PostgreSQL into buffers that are handed over.
const { url, links, patienceMilliseconds }: ExporterData = workerData
const servers = createServers(url)
const nextLink = inTurn(
  Array.from({ length: links }, () =>
    createCopyLink({ servers, patienceMilliseconds, prepare: makeExporting }),
  ),
)

const answer = async (query: CsvQuery): Promise<CopyAnswer> => {
  try {
    return { bytes: await nextLink().lines(query) }
  } catch (error) {
    if (isServerError(error)) return { refusal: error.message, code: error.code }
    return { loss: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', async ({ number, content }: Numbered<CsvQuery>) => {
  const found = await answer(content)
  // Handed over without being copied.
  parentPort?.postMessage({ number, content: found }, 'bytes' in found ? [found.bytes.buffer] : [])
})
