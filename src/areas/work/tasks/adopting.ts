import type { BatchPart, RunKey } from '../../../batches/store.ts'
import { CsvMistake, createCsvParser } from '../../../lib/csv-parse.ts'
import { Failure } from '../../../lib/failure.ts'
import type { ImportedRecord, Importer } from '../../adoption.ts'
import { takeIn } from './intake.ts'
import type { TaskDoc, TaskStore } from './store.ts'

interface CsvParts {
  header: readonly string[]
  parts: BatchPart[]
}

interface Output extends CsvParts {
  /** The first row as it came. */
  head: Buffer
}

async function* once(bytes: Buffer) {
  yield bytes
}

/** Undefined if it is no CSV. */
const inputParts = async (bytes: Buffer): Promise<CsvParts | undefined> => {
  const parts: BatchPart[] = []
  try {
    const { header } = await takeIn(once(bytes), {
      mandatory: [],
      keep: async (part) => void parts.push(part),
    })
    return { header, parts }
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

const outputBytes = 256 * 1024

/** The columns, and the rows in parts that end with a row. */
const outputParts = (bytes: Buffer): Output => {
  const parser = createCsvParser()
  const [head, ...rows] = [...parser.push(bytes), ...parser.end()]
  const parts: BatchPart[] = []
  let start = head?.end ?? 0
  for (const { end } of rows) {
    const isLast = end === rows.at(-1)?.end
    if (end - start < outputBytes && !isLast) continue
    const behind = isLast ? bytes.length : end
    parts.push({ number: parts.length, firstRow: 0, content: bytes.subarray(start, behind) })
    start = behind
  }
  const header = (head?.cells ?? []).map((cell) => cell ?? '')
  const headEnd = rows.length === 0 ? bytes.length : (head?.end ?? 0)
  return { header, head: bytes.subarray(0, headEnd), parts }
}

const isCsv = (bytes: Buffer) => {
  try {
    outputParts(bytes)
    return true
  } catch (error) {
    if (error instanceof CsvMistake) return false
    throw error
  }
}

const fileBytes = ({ files }: ImportedRecord, role: string) => files.find((file) => file.role === role)?.bytes

/** Tasks of another system that have ended. They are never started here. */
export const createTaskImporter = ({ tasks, runs }: TaskStore): Importer => {
  const contentOf = (
    { accountId, doc }: ImportedRecord,
    input: CsvParts | undefined,
    output: Output | undefined,
  ) => ({
    doc: {
      ...(doc as unknown as TaskDoc),
      csvs: [...(input ? ['in.csv'] : []), ...(output ? ['out.csv'] : [])],
    },
    hidden: {
      author: { requestId: 'import', authAccountId: accountId },
      authMethod: 'cb_user_auth' as const,
      columns: output?.header ?? [],
      ...(input ? { header: input.header } : {}),
      ...(output ? { head: output.head.toString('latin1') } : {}),
    },
  })

  const whole = async (task: RunKey, name: 'in.csv' | 'out') => {
    const parts: Buffer[] = []
    for await (const { content } of runs.parts.read(task, name)) parts.push(content)
    return Buffer.concat(parts)
  }

  return {
    kind: tasks.kind,

    async fileProblem({ role, bytes }) {
      if (role === 'output') return isCsv(bytes) ? undefined : 'it is not a CSV file'
      return (await inputParts(bytes))
        ? undefined
        : 'it is not a CSV file with a header and rows of the same length'
    },

    async files({ accountId, id }) {
      const task = await tasks.find(accountId, id)
      const files = new Map<string, Buffer>()
      if (task?.doc.csvs.includes('in.csv')) files.set('input', await whole(task, 'in.csv'))
      if (task?.hidden.head !== undefined) {
        const head = Buffer.from(task.hidden.head, 'latin1')
        files.set('output', Buffer.concat([head, await whole(task, 'out')]))
      }
      return files
    },

    async put(set, arrival) {
      const { accountId, id, created, modified, revision } = arrival
      const before = await tasks.find(accountId, id)
      if (before?.revision === revision) return false
      const [inputFile, outputFile] = [fileBytes(arrival, 'input'), fileBytes(arrival, 'output')]
      const input = inputFile && (await inputParts(inputFile))
      const output = outputFile && outputParts(outputFile)
      const content = contentOf(arrival, input, output)
      const after = tasks.arriving({ accountId, id, created, modified, revision }, content)
      if (before) {
        tasks.replace(set, before, after)
        runs.removeWhole(set, after)
      } else tasks.insert(set, after)
      const { success_count: succeeded = 0, failure_count: failed = 0 } = content.doc
      set.add(runs.insert(after, 'ended', { succeeded, failed }))
      for (const part of input?.parts ?? []) set.add(runs.parts.statement(after, 'in.csv', part))
      for (const part of output?.parts ?? []) set.add(runs.parts.statement(after, 'out', part))
      return true
    },

    async remove(set, { accountId, id }) {
      const task = await tasks.find(accountId, id)
      if (!task) return false
      tasks.remove(set, task)
      runs.removeWhole(set, task)
      return true
    },
  }
}
