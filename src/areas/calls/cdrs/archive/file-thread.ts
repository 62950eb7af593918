import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../../../lib/error-facts.ts'
import { memberOf } from '../../../../lib/member.ts'
import type { Numbered } from '../../../../storage/worker-link.ts'
import type { CdrRow } from '../columns.ts'
import { createFileWriter, fileEndOf, rowsOfGroup } from './file.ts'

let writer = createFileWriter()

const calls = {
  end: fileEndOf,
  rows: rowsOfGroup,

  /** Adds a group to the file. Returns the size of the file in bytes so far. */
  add(rows: readonly CdrRow[]) {
    writer.add(rows)
    return writer.bytes
  },

  /** The complete file. The next `add` starts another one. */
  async finish() {
    const { records } = writer
    const bytes = await writer.finish()
    writer = createFileWriter()
    return { bytes, records, digest: createHash('sha256').update(bytes).digest('hex') }
  },
}

export type FileCalls = typeof calls
export type FileCall = { name: keyof FileCalls; args: readonly unknown[] }
export type FileAnswer = { value: unknown } | { error: string }

const answerOf = async ({ name, args }: FileCall): Promise<FileAnswer> => {
  try {
    const call: (...args: never[]) => unknown = calls[name]
    return { value: await call(...(args as never[])) }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

// Runs in a worker thread: building or parsing a group takes about 100 ms of processor time.
parentPort?.on('message', async ({ number, content }: Numbered<FileCall>) => {
  const answer = await answerOf(content)
  const bytes = memberOf(answer, 'value', 'bytes')
  const buffer = bytes instanceof Uint8Array ? bytes.buffer : undefined
  // A file of 32 MB is handed over without a copy.
  parentPort?.postMessage({ number, content: answer }, buffer instanceof ArrayBuffer ? [buffer] : [])
})
