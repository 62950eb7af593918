// A world with a receiver, for tests of webhooks.
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Json } from '../../../src/lib/json.ts'
import { eventually } from '../run/eventually.ts'
import type { Engine } from '../servers/databases.ts'
import { answerWith, type HookReceiver, startHookReceiver } from '../servers/hook-receiver.ts'
import { type Person, type TestAccount, useWorld } from './world.ts'

export interface MadeHook {
  id: string
  /** `/v2/accounts/{account_id}/webhooks/{id}` */
  path: string
  /** The path of the hook at the receiver. */
  at: string
}

// Receiver, server and test share a process, so the timeout is long: only tests of the timeout run out of time.
const patienceMs = 10_000
const littleMs = 400

export const useHooks = (engine: Engine) => {
  const world = useWorld(engine, undefined, undefined, {
    settings: {
      crossbar: { allowed_private_hosts: ['127.0.0.1'] },
      webhooks: { request_timeout_ms: patienceMs },
      'crossbar.auth': { token_auth_expiry_s: 0 },
    },
    // Events go from the feed to hooks, and again to those that did not answer, as time passes.
    hasTimedJobs: true,
  })
  let receiver: HookReceiver
  let made = 0
  let isHasty = false

  const waitFor = (milliseconds: number) => world.configure('webhooks', { request_timeout_ms: milliseconds })

  beforeAll(async () => {
    receiver = await startHookReceiver()
  })
  afterEach(async () => {
    receiver.answers(answerWith(200, 'thank you'))
    await relax()
  })
  afterAll(() => receiver.close())

  const hooksOf = ({ path }: TestAccount) => `${path}/webhooks`

  /** A hook of an account that receives changes of its users, unless fields change that. */
  const hook = async (account: TestAccount, fields: Json = {}): Promise<MadeHook> => {
    made += 1
    const at = `/hook-${made}`
    const objects = { hook: 'object', custom_data: { type: 'user', action: 'all' } }
    const data = { name: `Hook ${made}`, uri: `${receiver.url}${at}`, format: 'json', ...objects, ...fields }
    const answer = await world.operator.put(hooksOf(account), data)
    if (answer.status !== 201) throw new Error(answer.text)
    return { id: answer.data.id, path: `${hooksOf(account)}/${answer.data.id}`, at }
  }

  /** Attempts to notify a hook, oldest first, once this number exists. */
  const attempts = async ({ path }: MadeHook, count: number): Promise<Json[]> => {
    const answer = await eventually(
      () => world.operator.get(`${path}/attempts`, { query: { ascending: true } }),
      ({ data }) => data.length >= count,
    )
    return answer.data
  }

  /** Receivers have little time to answer, until `relax` or the end of the test. */
  const hasten = async () => {
    isHasty = true
    await waitFor(littleMs)
  }

  /** Receivers have their usual time again. A test calls it before an answer that must come in time: a busy machine is slow. */
  const relax = async () => {
    if (isHasty) await waitFor(patienceMs)
    isHasty = false
  }

  /** Lets what is to be repeated be due. */
  const later = (seconds: number) => world.clock.advance({ seconds })

  const rename = ({ path }: Person, name: string) => world.operator.patch(path, { first_name: name })

  return {
    world,
    get receiver() {
      return receiver
    },
    hooksOf,
    hook,
    attempts,
    hasten,
    relax,
    later,
    rename,
  }
}
