import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../../../lib/error-facts.ts'
import type { Numbered } from '../../../../storage/worker-link.ts'
import { type FileEnd, type FileGroup, fileEndOf, rowsOfGroup } from './file.ts'
import { type PackedRows, packRows } from './packing.ts'

/** Bytes of a file: its end, or a group. */
export type FilePart = { end: Uint8Array } | { group: FileGroup; bytes: Uint8Array }

export type PartAnswer = { end: FileEnd } | { rows: PackedRows } | { error: string }

const answer = async (part: FilePart): Promise<PartAnswer> => {
  try {
    if ('end' in part) return { end: fileEndOf(part.end) }
    return { rows: packRows(await rowsOfGroup(part.group, part.bytes)) }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

// Runs in a worker thread: files of call records are taken apart, beside the event loop that serves requests.
parentPort?.on('message', async ({ number, content }: Numbered<FilePart>) => {
  parentPort?.postMessage({ number, content: await answer(content) })
})
