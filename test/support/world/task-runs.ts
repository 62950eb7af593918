// Tasks over HTTP from their making to their output.
import { expect } from 'vitest'
import type { Json } from '../../../src/lib/json.ts'
import { eventually } from '../run/eventually.ts'
import type { Client } from './client.ts'

export interface TaskWish {
  by: Client
  /** The account's path. */
  path: string
  category: string
  action: string
  csv?: string
  records?: readonly Json[]
  query?: Record<string, string>
  /** The query of the request that starts it. */
  start?: Record<string, string>
}

/** The result of a task: its record, and the lines of its output without their line ends. */
export interface TaskRun {
  path: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
  task: any
  output: string[]
}

const isOver = ({ status }: { status: string }) => status !== 'executing' && status !== 'pending'

/** Starts a task that was made, and waits for its end. */
export const finishTask = async (
  by: Client,
  path: string,
  query: Record<string, string> = {},
): Promise<TaskRun> => {
  expect(await by.patch(path, undefined, { query })).toSucceed()
  const task = await eventually(async () => (await by.get(path)).body.metadata as { status: string }, isOver)
  const { text } = await by.get(`${path}/output`)
  return { path, task, output: text.split('\r\n').filter((line) => line !== '') }
}

export const runTask = async ({
  by,
  path,
  category,
  action,
  csv,
  records,
  query,
  start,
}: TaskWish): Promise<TaskRun> => {
  const options = {
    query: { category, action, ...query },
    ...(csv === undefined ? {} : { body: Buffer.from(csv), headers: { 'content-type': 'text/csv' } }),
  }
  const made = await by.put(`${path}/tasks`, records && { records }, options)
  expect(made).toSucceed()
  return finishTask(by, `${path}/tasks/${made.body.metadata.id}`, start)
}

/** The output as records by column. Cells in these tests hold no commas. */
export const rowsOf = ([header = '', ...lines]: readonly string[]): Record<string, string>[] =>
  lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries(header.split(',').map((name, index) => [name, cells[index] ?? '']))
  })
