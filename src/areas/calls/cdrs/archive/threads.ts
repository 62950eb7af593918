// Files of call records are put together and taken apart in threads of their own: requests of a moment do not wait for that.
import { createWorkerLink, longReadNiceness } from '../../../../storage/worker-link.ts'
import type { CdrRow } from '../columns.ts'
import type { FileEnd, FileGroup } from './file.ts'
import type { FilePart, PartAnswer } from './file-reader.ts'
import type { FileStep, StepAnswer, WrittenFile } from './file-writer.ts'
import { unpackRows } from './packing.ts'

const readerScript = new URL('./file-reader.ts', import.meta.url)
const writerScript = new URL('./file-writer.ts', import.meta.url)

const unlike = (answer: object) =>
  new Error('error' in answer ? String(answer.error) : 'the thread answered something else')

/** Takes files apart, for somebody who waits. The thread is there from the first one on. */
export const createFileReader = () => {
  const link = createWorkerLink<FilePart, PartAnswer>(readerScript, {})
  return {
    /** What the end of a file says, of its bytes: see `fileEndOf`. */
    async end(bytes: Uint8Array): Promise<FileEnd> {
      const answer = await link.call({ end: bytes })
      if ('end' in answer) return answer.end
      throw unlike(answer)
    },

    /** The rows of a group, of its bytes. */
    async rows(group: FileGroup, bytes: Uint8Array): Promise<CdrRow[]> {
      const answer = await link.call({ group, bytes })
      if ('rows' in answer) return unpackRows(answer.rows)
      throw unlike(answer)
    },

    close: link.close,
  }
}

/** Puts one file together after the other. The thread goes with whoever has it. */
export const createFileThread = () => {
  const link = createWorkerLink<FileStep, StepAnswer>(writerScript, {}, { niceness: longReadNiceness })
  let added = 0
  return {
    /** Adds a group: rows in the order of account, time and id, behind those before. Answers with the file's bytes so far. */
    async add(rows: readonly CdrRow[]): Promise<number> {
      added += rows.length
      const answer = await link.call({ rows })
      if ('size' in answer) return answer.size
      throw unlike(answer)
    },

    /** The file, after it was taken apart again; what is added next goes into another one. */
    async finish(): Promise<WrittenFile> {
      const answer = await link.call('finish')
      if (!('file' in answer)) throw unlike(answer)
      // A thread that ended is followed by one that knows nothing of what was added before.
      if (answer.file.records !== added) throw new Error('the thread lost a part of the file')
      added = 0
      return answer.file
    },

    /** Ends at once, whatever is under way. */
    close: link.close,
  }
}
