// Tasks over CSV, one after the other in each chain.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { eventually } from '../../run/eventually.ts'
import { countOf } from '../../run/run-length.ts'
import { type Insist, withKey } from './insist.ts'

const chains = countOf(1, 2)
const rowsOfTask = 2000
const pollMs = 50
/** Every tenth row fails: its number lacks the plus. */
const isBad = (number: string) => !number.startsWith('+')

interface Task {
  id: string
  numbers: readonly string[]
  startedAt: number
  endedAt?: number
  /** How many rows had succeeded each time that it was looked at. */
  seen: { at: number; rows: number }[]
}

interface Progress {
  status: string
  success_count?: number
  failure_count?: number
}

/** The first progress after a moment may have been made before it. */
const wentOnAt = ({ seen, endedAt = Number.POSITIVE_INFINITY }: Task, moment: number) => {
  const [first, ...rest] = seen.filter(({ at }) => at > moment)
  return rest.find(({ rows }) => rows > (first?.rows ?? 0))?.at ?? endedAt
}

const pathOf = ({ id }: Pick<Task, 'id'>) => `/v2/tasks/${id}`

export const createTasks = (insist: Insist) => {
  const all: Task[] = []
  const current: (Task | undefined)[] = []
  let named = 0

  const nextInput = () => {
    const task = named++
    const numbers = Array.from(
      { length: rowsOfTask },
      (_, row) => `${row % 10 === 0 ? '' : '+'}1415${String(task * rowsOfTask + row).padStart(7, '0')}`,
    )
    return { name: `task-${task}`, numbers }
  }

  const progressOf = async (task: Task): Promise<Progress> => {
    const { answer } = await insist(({ admin }) => admin.get(pathOf(task)))
    return answer.body.metadata as unknown as Progress
  }

  const start = async (first: number): Promise<Task> => {
    const { name, numbers } = nextInput()
    const made = await insist(
      ({ admin }) =>
        admin.put(`/v2/tasks?category=number_management&action=import&file_name=${name}.csv`, undefined, {
          body: ['e164', ...numbers].join('\n'),
          headers: { 'content-type': 'text/csv', ...withKey(name).headers },
        }),
      { first },
    )
    const id = String(made.answer.body.metadata.id)
    await insist(({ admin }) => admin.patch(pathOf({ id }), undefined, withKey(`${name}-start`)), { first })
    return { id, numbers, startedAt: performance.now(), seen: [] }
  }

  const untilEnded = async (task: Task) => {
    for (;;) {
      const { status, success_count: rows = 0 } = await progressOf(task)
      const at = performance.now()
      task.seen.push({ at, rows })
      if (status !== 'executing') {
        task.endedAt = at
        return
      }
      await pause(pollMs)
    }
  }

  /** Tasks one after the other until they are stopped; the last of a chain is waited for. */
  const chain = async (number: number, isOver: () => boolean) => {
    while (!isOver()) {
      const task = await start(number)
      all.push(task)
      current[number] = task
      await untilEnded(task)
    }
  }

  const isAtWork = async (task: Task | undefined) => {
    if (!task) return false
    const { status, success_count: succeeded = 0 } = await progressOf(task)
    return status === 'executing' && succeeded > 0 && succeeded < rowsOfTask / 2
  }

  const isOneAtWork = async () => (await Promise.all(current.map(isAtWork))).some(Boolean)

  const rowsIn = async (task: Task) => {
    const { answer } = await insist(({ admin }) => admin.get(`${pathOf(task)}/output`))
    const [header = '', ...lines] = answer.text.split('\r\n')
    return { header, lines: lines.slice(0, -1), rest: lines.at(-1) }
  }

  const expectDone = async (task: Task) => {
    const bad = task.numbers.filter(isBad).length
    expect(await progressOf(task)).toMatchObject({
      status: 'partial',
      total_count: rowsOfTask,
      success_count: rowsOfTask - bad,
      failure_count: bad,
    })
    const { header, lines, rest } = await rowsIn(task)
    expect(header).toMatch(/^e164,.*,error$/)
    expect(rest).toBe('')
    expect(lines.map((line) => line.split(',', 1)[0])).toEqual(task.numbers)
    expect(lines.filter((line) => line.endsWith(',bad field(s) e164'))).toHaveLength(bad)
  }

  return {
    /**
     * Starts tasks. The returned function stops the start of further ones, and resolves when all have ended.
     */
    begin() {
      let isOver = false
      const working = Promise.all(Array.from({ length: chains }, (_, number) => chain(number, () => isOver)))
      working.catch(() => undefined)
      return {
        working,
        end() {
          isOver = true
          return working
        },
      }
    },

    /** One has done some of its rows, and has most of them before it. */
    untilAtWork: () => eventually(isOneAtWork, Boolean),

    isOneAtWork,

    /**
     * The number of tasks that were in progress at a moment, and the longest time until one of them continued.
     */
    across(moment: number) {
      const found = all.filter(
        ({ startedAt, endedAt = Number.POSITIVE_INFINITY }) => startedAt < moment && moment < endedAt,
      )
      return {
        count: found.length,
        longestMs: Math.max(0, ...found.map((task) => wentOnAt(task, moment) - moment)),
      }
    },

    /**
     * Expects from the output that each task has done every row once. Returns the tasks, and the numbers that
     * they have made.
     */
    async expectAllDone() {
      for (const task of all) await expectDone(task)
      const numbers = all.flatMap((task) => task.numbers)
      return { ids: all.map(({ id }) => id), numbers: numbers.filter((number) => !isBad(number)) }
    },
  }
}
