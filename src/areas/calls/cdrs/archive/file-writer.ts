import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../../../lib/error-facts.ts'
import type { Numbered } from '../../../../storage/worker-link.ts'
import type { CdrRow } from '../columns.ts'
import { createFileWriter } from './file.ts'

/** A further group of the file in the making, or its end: the next group begins another file. */
export type FileStep = { rows: readonly CdrRow[] } | 'finish'

export interface WrittenFile {
  bytes: Uint8Array<ArrayBuffer>
  records: number
  /** SHA-256 of the bytes. */
  digest: string
}

/** How many bytes the file has so far; or all of it. */
export type StepAnswer = { size: number } | { file: WrittenFile } | { error: string }

let writer = createFileWriter()

const finish = async (): Promise<WrittenFile> => {
  const { records } = writer
  const bytes = await writer.finish()
  writer = createFileWriter()
  return { bytes, records, digest: createHash('sha256').update(bytes).digest('hex') }
}

const answer = async (step: FileStep): Promise<StepAnswer> => {
  try {
    if (step === 'finish') return { file: await finish() }
    writer.add(step.rows)
    return { size: writer.bytes }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

// Runs in a worker thread: files of call records are put together, beside the event loop that serves requests.
parentPort?.on('message', async ({ number, content }: Numbered<FileStep>) => {
  const found = await answer(content)
  // Handed over without being copied.
  parentPort?.postMessage({ number, content: found }, 'file' in found ? [found.file.bytes.buffer] : [])
})
