// Numbers, and tasks that work on them.
import { expect } from 'vitest'
import type { Json } from '../../../src/lib/json.ts'
import type { Client } from './client.ts'
import { runTask } from './task-runs.ts'
import type { TestAccount, World } from './world.ts'

/** Helpers for tests of number tasks. Call it after the world exists. */
export const createNumberTasks = (world: World) => {
  let made = 0

  /** A number that no other test uses. */
  const fresh = () => {
    made += 1
    return `+1415555${String(made).padStart(4, '0')}`
  }

  const pathOf = ({ path }: TestAccount, number: string) =>
    `${path}/phone_numbers/${encodeURIComponent(number)}`

  return {
    fresh,
    pathOf,

    async create(account: TestAccount, fields: Json = {}): Promise<string> {
      const number = fresh()
      const path = pathOf(account, number)
      expect(await world.operator.put(path, fields, { envelope: { accept_charges: true } })).toSucceed()
      return number
    },

    numberOf: async (account: TestAccount, number: string) =>
      (await world.operator.get(pathOf(account, number))).data,

    /** By the operator on the master account unless told otherwise. */
    run: (
      action: string,
      csv: string | undefined,
      by: Client = world.operator,
      { path }: TestAccount = world.master,
      query: Record<string, string> = {},
    ) =>
      runTask({
        by,
        path,
        category: 'number_management',
        action,
        query,
        ...(csv === undefined ? {} : { csv }),
      }),
  }
}
