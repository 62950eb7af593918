import type { ListTasksResponses } from '@crosspoint/client'

/** A task as lists, and answers about one task, tell it. */
export type Task = ListTasksResponses[200]['data'][number]

const isTask = (value: unknown): value is Task =>
  typeof value === 'object' && value !== null && 'id' in value && 'status' in value

/** The task that an answer is about: its record is not among the data. */
export const taskIn = ({ metadata }: { metadata?: unknown }): Task => {
  if (!isTask(metadata)) throw new TypeError('the answer is about no task')
  return metadata
}
