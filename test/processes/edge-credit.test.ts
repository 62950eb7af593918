// Credit and trunks at a server with an edge: calls over carriers reserve what they need, and end when the credit is used.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { headerOf, outcomeOf, type SipMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  makeAccount,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

describe.skipIf(lacksKamailio)(`credit at a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  let carrier: Phone
  let made = 0
  const phones: Phone[] = []

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
    carrier = await openPhone({
      edgePort: edge.port,
      realm: 'carrier.invalid',
      username: '+14155550999',
      address: '127.0.0.7',
    })
    phones.push(carrier)
    const gateways = [{ server: '127.0.0.7', port: carrier.port }]
    const { admin } = place.session
    expect(await admin.put('/v2/resources', { name: 'Ours', rules: ['^\\+1\\d{10}$'], gateways })).toSucceed()
    const rate = { rate_cost: 0.02, rate_minimum: 60, rate_increment: 60 }
    expect(await admin.put('/v2/rates', { prefix: '1415', ...rate })).toSucceed()
    const fast = { rate_cost: 0.6, rate_minimum: 1, rate_increment: 1 }
    expect(await admin.put('/v2/rates', { prefix: '1416', ...fast })).toSucceed()
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  // Some tests end the server while the edge asks it.
  afterEach(() => expect(edge.complaints().filter((line) => !line.includes('http_client'))).toEqual([]))

  /** An account with a phone, and a number that rings it. */
  const office = async ({ credit = 0, limits = {}, operator = {} }: Record<string, Json | number>) => {
    made += 1
    const account = await makeAccount(place)
    const { admin } = place.session
    const { phone: ada, device } = await makePhone(place, edge, account, { username: 'ada' })
    phones.push(ada)
    expect(outcomeOf(await ada.register())).toBe('200 OK')
    const number = `+1415555${2000 + made}`
    expect(await admin.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {})).toSucceed()
    const flows = [
      { numbers: ['no_match'], flow: { module: 'resources', data: {}, children: {} } },
      { numbers: [number], flow: { module: 'device', data: { id: device.id }, children: {} } },
    ]
    for (const flow of flows) expect(await admin.put(`${account.path}/callflows`, flow)).toSucceed()
    if (credit !== 0) {
      const source = { service: 'payments', id: 'cash' }
      const usage = { type: 'credit', quantity: 1, unit: 'payment' }
      expect(await admin.put(`${account.path}/ledgers/credit`, { source, usage, amount: credit })).toSucceed()
    }
    expect(await admin.post(`${account.path}/limits`, limits as Json)).toSucceed()
    expect(await admin.post(`${account.path}/limits/operator`, operator as Json)).toSucceed()
    return { account, ada, number }
  }

  /** The INVITE that a phone receives; fails if the caller is refused first. */
  const inviteOf = async (phone: Phone, callId: string, calling: Promise<SipMessage>) => {
    const found = () =>
      phone.received.find((one) => one.method === 'INVITE' && headerOf(one, 'call-id') === callId)
    const refused = calling.then((final) => Promise.reject(new Error(outcomeOf(final))))
    return Promise.race([eventually(found, (one) => one !== undefined), refused]) as Promise<SipMessage>
  }

  /** Waits until both sides of a call have received its end. */
  const ends = (callId: string, ...both: Phone[]) =>
    eventually(
      () =>
        both.every(({ received }) =>
          received.some((one) => one.method === 'BYE' && headerOf(one, 'call-id') === callId),
        ),
      (isOver) => isOver,
    )

  /** The server ends at once, and another one continues with its store. */
  const restartServer = async (meanwhile: () => Promise<unknown> = async () => {}) => {
    await place.server.end('SIGKILL')
    await meanwhile()
    const { port, dataDir } = place.server
    place.server = await startServerProcess({ CROSSPOINT_PORT: String(port) }, dataDir)
  }

  /** A call that is answered. */
  const call = async (from: Phone, to: Phone, number: string) => {
    const callId = `${randomUUID()}@phone`
    const calling = from.call(number, { callId })
    to.answer(await inviteOf(to, callId, calling), {}, callId.slice(0, 8))
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    return { callId, final, hangUp: () => from.within(final, 'BYE') }
  }

  const out = '+14155550177'
  const isFree = async (from: Phone, number = out) => {
    const final = await eventually(
      async () => {
        const callId = `${randomUUID()}@phone`
        const calling = from.call(number, { callId })
        const invited = await inviteOf(carrier, callId, calling).catch(() => undefined)
        if (invited) carrier.answer(invited, {}, callId.slice(0, 8))
        return calling
      },
      ({ status }) => status === 200,
    )
    expect((await from.within(final, 'BYE')).status).toBe(200)
  }

  it('is reserved for each call that begins', async () => {
    const { account, ada } = await office({ credit: 0.55 })
    const callIds = Array.from({ length: 6 }, () => `${randomUUID()}@phone`)
    const finals = await Promise.all(
      callIds.map(async (callId) => {
        const calling = ada.call(out, { callId })
        const invited = await inviteOf(carrier, callId, calling).catch(() => undefined)
        if (invited) carrier.answer(invited, {}, callId.slice(0, 8))
        return calling
      }),
    )
    const outcomes = finals.map(outcomeOf).sort()
    expect(outcomes).toEqual([...Array(3).fill('200 OK'), ...Array(3).fill('402 Payment Required')])
    for (const final of finals)
      if (final.status === 200) expect((await ada.within(final, 'BYE')).status).toBe(200)
    const { admin } = place.session
    expect((await admin.get(`${account.path}/ledgers/total`)).data.amount).toBeGreaterThan(0.4)
  })

  it('ends a call for both sides when it is used up, and reports why', async () => {
    const { account, ada } = await office({ credit: 0.06, operator: { prepaid: true, reserve_amount: 0 } })
    const { callId } = await call(ada, carrier, '+14165550177')
    await ends(callId, ada, carrier)
    const { admin } = place.session
    const rows = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?paginate=false`)).data as Json[],
      ({ length }) => length === 2,
    )
    const seconds = Number(rows.find(({ call_id: id }) => id === `${callId}.b`)?.billing_seconds)
    expect(seconds).toBeGreaterThanOrEqual(2)
    const { amount } = (await admin.get(`${account.path}/ledgers/total`)).data
    expect(amount).toBeGreaterThanOrEqual(0)
    const events = (await admin.get(`${account.path}/events?type=call.credit_used`)).data as Json[]
    expect(events.map(({ after }) => after)).toEqual([
      { id: account.id, call_id: callId, direction: 'outbound', seconds: 5 },
    ])
  })

  it('ends a call when it is used also while the server is away', async () => {
    const { account, ada } = await office({ credit: 0.06, operator: { reserve_amount: 0 } })
    const { callId } = await call(ada, carrier, '+14165550177')
    await restartServer(() => ends(callId, ada, carrier))
    const { admin } = place.session
    const amount = await eventually(
      async () => (await admin.get(`${account.path}/ledgers/total`)).data.amount as number,
      (left) => left < 0.06,
    )
    expect(amount).toBeGreaterThanOrEqual(0)
  })

  it('lets a running call continue when more is paid', async () => {
    const { account, ada } = await office({ credit: 0.6 })
    const { callId, hangUp } = await call(ada, carrier, '+14165550177')
    const limitOf = async () => {
      const { body } = await edge.rpc('dlg.dlg_list', [callId])
      const [dialog] = [body.result].flat()
      return Number(dialog.lifetime)
    }
    expect(await limitOf()).toBeLessThan(60)
    const source = { service: 'payments', id: 'more' }
    const usage = { type: 'credit', quantity: 1, unit: 'payment' }
    const { admin } = place.session
    expect(await admin.put(`${account.path}/ledgers/credit`, { source, usage, amount: 100 })).toSucceed()
    // The edge names its calls every ten seconds.
    await eventually(limitOf, (seconds) => seconds > 5000)
    expect((await hangUp()).status).toBe(200)
  })

  it('is not needed for as many calls as there are trunks, in both directions', async () => {
    const limits = { inbound_trunks: 1, twoway_trunks: 1 }
    const { account, ada, number } = await office({ limits })
    const arrivals = [await call(carrier, ada, number), await call(carrier, ada, number)]
    expect(outcomeOf(await carrier.call(number))).toBe('503 Service Unavailable')
    expect(outcomeOf(await ada.call(out))).toBe('486 Busy Here')
    for (const { hangUp } of arrivals) expect((await hangUp()).status).toBe(200)
    await isFree(ada)
    const { admin } = place.session
    const rows = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?paginate=false`)).data as Json[],
      (found) => found.some(({ call_id: id }) => id === arrivals[0]?.callId),
    )
    const row = rows.find(({ call_id: id }) => id === arrivals[0]?.callId)
    const record = (await admin.get(`${account.path}/cdrs/${row?.id}`)).data
    expect(record.custom_channel_vars.account_billing).toBe('flat_rate')
    expect(record).not.toHaveProperty('reservations')
    expect((await admin.get(`${account.path}/ledgers/total`)).data.amount).toBe(0)
  })

  it.each([
    ['calls over carriers', { resource_consuming_calls: 1 }],
    ['calls', { calls: 1 }],
  ])('carries no more %s than the limit says, from carriers and to them', async (_title, limits) => {
    const { ada, number } = await office({ limits, credit: 10 })
    const arrival = await call(carrier, ada, number)
    expect(outcomeOf(await carrier.call(number))).toBe('503 Service Unavailable')
    expect(outcomeOf(await ada.call(out))).toBe('486 Busy Here')
    expect((await arrival.hangUp()).status).toBe(200)
    await isFree(ada)
  })

  it('is not shared with a call that has the Call-ID of a running one', async () => {
    const { ada } = await office({ limits: { outbound_trunks: 1 } })
    const [callId, other] = [`${randomUUID()}@phone`, '+14155550178']
    const calling = ada.call(out, { callId, fromTag: 'first' })
    const invite = await inviteOf(carrier, callId, calling)
    expect(outcomeOf(await ada.call(other, { callId, fromTag: 'first' }))).toBe('482 Request Merged')
    carrier.answer(invite, {}, callId.slice(0, 8))
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    for (const fromTag of ['first', 'second'])
      expect(outcomeOf(await ada.call(other, { callId, fromTag }))).toBe('486 Busy Here')
    expect((await ada.within(final, 'BYE')).status).toBe(200)
    await isFree(ada)
  })

  it('is charged for a call over a carrier also if a call inside the platform has its Call-ID', async () => {
    const { account, ada } = await office({ credit: 10 })
    const { ada: eve, number } = await office({})
    const callId = `${randomUUID()}@phone`
    const calling = ada.call('+14165550177', { callId, fromTag: 'first' })
    const invite = await inviteOf(carrier, callId, calling)
    const free = ada.call(number, { callId, fromTag: 'second' })
    eve.answer(await inviteOf(eve, callId, free), { status: 180, phrase: 'Ringing' }, 'eves')
    carrier.answer(invite, {}, callId.slice(0, 8))
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await eventually(
      () => edge.kept("SELECT dialog_value FROM dialog_vars WHERE dialog_key = 'running'"),
      (rows) => rows.some(({ dialog_value: reserved }) => String(reserved).includes(account.id)),
    )
    eve.answer(await inviteOf(eve, callId, free), { status: 486, phrase: 'Busy Here' }, 'eves')
    expect(outcomeOf(await free)).toBe('486 Busy Here')
    await sleep(1500)
    expect((await ada.within(final, 'BYE')).status).toBe(200)
    const { admin } = place.session
    const total = async () => (await admin.get(`${account.path}/ledgers/total`)).data.amount as number
    expect(await eventually(total, (left) => left < 10)).toBeGreaterThan(9)
  })

  it('stays reserved while the server or the edge is started again', async () => {
    const { ada } = await office({ limits: { outbound_trunks: 1 } })
    const running = await call(ada, carrier, out)
    // 503: the last request of the edge to the server had no response.
    const isBusy = async () => {
      const outcome = await eventually(
        async () => outcomeOf(await ada.call(out)),
        (one) => one !== '503 Service Unavailable',
      )
      expect(outcome).toBe('486 Busy Here')
    }
    await isBusy()
    await restartServer()
    await edge.stop('SIGKILL')
    await edge.start()
    await isBusy()
    expect((await running.hangUp()).status).toBe(200)
    await isFree(ada)
  })
})
