// A fake server for an edge: it responds as the test requires, and receives reports.
import { createHash } from 'node:crypto'
import { eventually } from '../run/eventually.ts'
import { type Answering, answerWith, startHookReceiver } from './hook-receiver.ts'

const plenty = { registrations: 10_000, invites: 10_000, total_packets: 10_000 }
const roomy = { per_minute: plenty, per_second: plenty }

const answerData = (data: unknown) => answerWith(200, JSON.stringify({ data }))

export const accountId = 'a'.repeat(32)

/** Another account, with a separate realm. */
export const rivalId = 'b'.repeat(32)
export const rivalRealm = 'rival.test'

/** The device that signs in by this name. */
export const deviceOf = (username: string) => createHash('md5').update(username).digest('hex')

export const passwordOf = (username: string) => `word-of-${username}`

interface Route {
  [field: string]: unknown
}

export type SipServer = Awaited<ReturnType<typeof startSipServer>>

/** Two accounts with every user name; the test sets the route of a call. */
export const startSipServer = async () => {
  const routes = new Map<string, Route>()
  const carriers = new Map<string, Route>()
  const senders = new Map<string, Route>()
  const exhausted = new Map<string, string>()
  const state = { isAway: false, maxAgeSeconds: 60, routeMs: 0 }

  const sender = (form: URLSearchParams): Answering => {
    const [realm, username = ''] = [form.get('realm'), form.get('username') ?? '']
    const limits = { rate_limits: { account: roomy, device: roomy }, max_age_s: state.maxAgeSeconds }
    if (realm?.endsWith('.invalid')) return answerData({ ...limits, allowed: false, reason: 'unknown_realm' })
    const known = senders.get(username)
    if (known) return answerData({ account_id: accountId, allowed: true, ...limits, ...known })
    const ha1 = createHash('md5')
      .update(`${username}:${realm}:${passwordOf(username)}`)
      .digest('hex')
    const account_id = realm === rivalRealm ? rivalId : accountId
    return answerData({ account_id, device_id: deviceOf(username), ha1, allowed: true, ...limits })
  }

  const refused = {
    decision: 'refuse',
    account_id: accountId,
    sip_code: 404,
    sip_reason: 'Not Found',
    reason: 'unknown_number',
  }

  const admission = ({ id, account_id: payer }: Route) => {
    const reason = exhausted.get(String(payer))
    return reason ? { id, allowed: false, reason } : { id, allowed: true, account_billing: 'per_minute' }
  }

  const receiver = await startHookReceiver()
  receiver.answers((call, response) => {
    const answerTo = (): Answering => {
      if (state.isAway) return answerWith(503)
      if (call.path === '/v2/edge') return sender(call.form)
      if (call.path === '/v2/edge/carrier') {
        const known = carriers.get(call.form.get('number') ?? '')
        return answerData({
          max_age_s: state.maxAgeSeconds,
          ...(known ?? { allowed: false, reason: 'unknown_address' }),
        })
      }
      if (call.path === '/v2/edge/calls')
        return answerData({ calls: call.json.data.calls.map((one: Route) => admission(one)) })
      if (call.path === '/v2/edge/route')
        return answerData(routes.get(call.form.get('number') ?? '') ?? refused)
      return answerData({})
    }
    const waitMs = call.path === '/v2/edge/route' ? state.routeMs : 0
    setTimeout(() => answerTo()(call, response), waitMs)
  })

  /** Bodies that it has acknowledged. */
  const taken = (name: 'records' | 'refusals') =>
    receiver.to('/v2/edge/reports').flatMap(({ json }) => json.data[name])

  return {
    ...receiver,
    routes,
    carriers,
    /** By user name in From: who is not a device with this name. */
    senders,
    /** By account: why its calls over carriers may not begin. */
    exhausted,
    taken,
    /** Cache time of its responses from now on. */
    mayBeKept(seconds: number) {
      state.maxAgeSeconds = seconds
    },
    /** Delay of its routing responses. */
    routesTake(milliseconds: number) {
      state.routeMs = milliseconds
    },
    goAway() {
      state.isAway = true
    },
    comeBack() {
      receiver.calls.length = 0
      state.isAway = false
    },
    /** What a call rings: devices by user name, all at once. */
    rings(number: string, usernames: readonly string[], realm: string, more: Route = {}) {
      routes.set(number, {
        decision: 'ring',
        account_id: accountId,
        number,
        targets: usernames.map((username) => ({
          type: 'device',
          device_id: deviceOf(username),
          username,
          realm,
          delay_s: 0,
          timeout_s: 20,
        })),
        caller_id: {},
        limits: {},
        variables: {},
        ...more,
      })
    },
    records: (callId: string, count = 2) =>
      eventually(
        () => taken('records').filter((one) => one.call_id.startsWith(callId)),
        (found) => found.length >= count,
      ),
    refusals: (reason: string) =>
      eventually(
        () => taken('refusals').filter((one) => one.reason === reason),
        (found) => found.length > 0,
      ),
  }
}
