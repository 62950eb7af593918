// Whole answers, without the parts that every answer has.
import { expect } from 'vitest'
import type { Answer } from '../world/client.ts'
import type { TestAccount, World } from '../world/world.ts'

const sameForAll = new Set([
  ...['status', 'request_id', 'node', 'timestamp', 'version', 'auth_token', 'revision', 'tokens'],
])

/** The status of an answer and its envelope, but for the keys that all envelopes share. */
export const said = ({ status, body }: Answer): Record<string, unknown> => {
  const own = Object.entries(body).filter(([key]) => !sameForAll.has(key))
  return { status, ...Object.fromEntries(own) }
}

/** The body of an error response. */
export const saidError = (status: number, message: string, data: unknown, metadata: object = {}) => ({
  status,
  error: String(status),
  message,
  data,
  metadata,
})

/** Method and path; `{account_id}` means the account of the test. */
export type Row = readonly [method: string, path: string]

/**
 * Shows that the server refuses these requests without a token and from another account, and that they change
 * nothing.
 */
export const expectNoStrangers = (world: World, rows: readonly Row[], { id }: TestAccount = world.acme) =>
  world.unchanged(async () => {
    for (const [method, template] of rows) {
      const path = template.replace('{account_id}', id).replace(/\{\w+\}/g, '0'.repeat(32))
      const row = `${method} ${path}`
      expect((await world.anonymous.request(method, path)).status, row).toBe(401)
      expect((await world.rex.request(method, path)).status, row).toBe(403)
    }
  })
