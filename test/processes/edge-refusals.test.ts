// Refusals of a server with its edge: each packet is answered with its SIP code, and the account can read who
// sent it, and why it was refused.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { outcomeOf } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  edgeOf,
  makeAccount,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

const minuteOf = (ms: number) => Math.floor(ms / 60_000)

describe.skipIf(lacksKamailio)(`a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  const phones: Phone[] = []

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  /** An account with one phone, and the changes of a test to both. */
  const office = async (more: Partial<Parameters<typeof openPhone>[0]> = {}) => {
    const account = await makeAccount(place)
    const made = await makePhone(place, edge, account, { username: 'ada', userAgent: 'Yealink T46', ...more })
    phones.push(made.phone)
    const { admin } = place.session
    const put = async (path: string, data: Json) => {
      const answer = await admin.put(path, data)
      expect(answer).toSucceed()
      return String(answer.data.id)
    }
    const post = async (path: string, data: Json) => expect(await admin.post(path, data)).toSucceed()
    const patch = async (path: string, data: Json) => expect(await admin.patch(path, data)).toSucceed()
    return { account, ...made, put, post, patch }
  }

  type Office = Awaited<ReturnType<typeof office>>

  /** The one refusal in the feed of an account. */
  const toldTo = async ({ account }: Office) => {
    const [told] = await eventually(
      async () => (await place.session.admin.get(`${account.path}/events?type=sip.refused`)).data as Json[],
      ({ length }) => length === 1,
    )
    return told
  }

  /** What the account reads of a refused packet of its phone. */
  const refusal = ({ account, device }: Office, facts: Json) =>
    expect.objectContaining({
      type: 'sip.refused',
      account_id: account.id,
      record: { kind: 'device', id: device.id },
      after: {
        id: device.id,
        realm: account.realm,
        username: 'ada',
        address: '127.0.0.1',
        user_agent: 'Yealink T46',
        at: expect.any(Number),
        count: 1,
        ...facts,
      },
    })

  describe('refuses a registration', () => {
    const narrow = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
    const here = { order: 'allow,deny', cidrs: ['127.0.0.0/8'] }

    it.each<[string, string, (office: Office) => Promise<unknown>]>([
      [
        'from an address that the list of the account keeps out',
        'realm_denies_address',
        ({ account, post }) => post(`${account.path}/access_lists`, narrow),
      ],
      [
        'from an address that the list of the device keeps out',
        'device_denies_address',
        ({ device, post }) => post(`${device.path}/access_lists`, narrow),
      ],
      [
        'of a user agent that the device does not allow',
        'device_denies_user_agent',
        ({ device, post }) => post(`${device.path}/access_lists`, { ...here, user_agent: '^Snom' }),
      ],
      [
        'of a device that is switched off',
        'device_disabled',
        ({ device, patch }) => patch(device.path, { enabled: false }),
      ],
      [
        'of a user who is switched off',
        'user_disabled',
        async ({ account, device, put, patch }) => {
          const who = { first_name: 'Ada', last_name: 'Lovelace', enabled: false }
          await patch(device.path, { owner_id: await put(`${account.path}/users`, who) })
        },
      ],
      [
        'of an account that is switched off',
        'account_disabled',
        ({ account, patch }) => patch(account.path, { enabled: false }),
      ],
    ])('%s', async (_, reason, prepare) => {
      const made = await office()
      await prepare(made)
      expect(outcomeOf(await made.phone.register())).toBe('403 Forbidden')
      expect(await toldTo(made)).toEqual(refusal(made, { method: 'REGISTER', reason, sip_code: 403 }))
    })

    it('with a wrong password', async () => {
      const made = await office()
      const guess = await openPhone({
        edgePort: edge.port,
        realm: made.account.realm,
        username: 'ada',
        password: 'guessed',
        userAgent: 'Yealink T46',
      })
      phones.push(guess)
      expect(outcomeOf(await guess.register())).toBe('403 Forbidden')
      const facts = { method: 'REGISTER', reason: 'wrong_password', sip_code: 403 }
      expect(await toldTo(made)).toEqual(refusal(made, facts))
    })

    it('that is the 31st packet of its minute', async () => {
      // The limits count by clock minutes: a new minute during the test would restart the count.
      const inOneMinute = async (): Promise<[Office, string[]]> => {
        const made = await office({ password: '' })
        const limits = { per_minute: { registrations: 30 }, per_second: { registrations: 1000 } }
        await made.post(`${made.device.path}/rate_limits`, limits)
        const began = Date.now()
        const outcomes: string[] = []
        for (let packet = 1; packet <= 31; packet += 1) outcomes.push(outcomeOf(await made.phone.register()))
        return minuteOf(began) === minuteOf(Date.now()) ? [made, outcomes] : inOneMinute()
      }
      const [made, outcomes] = await inOneMinute()
      expect(outcomes).toEqual([...Array(30).fill('401 Unauthorized'), '429 Too Many Requests'])
      const facts = { method: 'REGISTER', reason: 'too_many_packets', sip_code: 429 }
      expect(await toldTo(made)).toEqual(refusal(made, facts))
    })
  })

  it('decides about calls of known phones while strangers use up the questions about senders', async () => {
    const busy = await edgeOf(place, { QUESTIONS_PER_SECOND: 3 })
    try {
      const account = await makeAccount(place)
      const { phone } = await makePhone(place, busy, account, { username: 'ada' })
      phones.push(phone)
      expect(outcomeOf(await phone.call('7777'))).toBe('404 Not Found')
      // On a busy machine the questions may spread over many seconds: then none is too many.
      const underFlood = async (round = 0): Promise<void> => {
        const strangers = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            openPhone({ edgePort: busy.port, realm: account.realm, username: `s${round}-${index}` }),
          ),
        )
        phones.push(...strangers)
        const flood = Promise.all(strangers.map((stranger) => stranger.register()))
        expect(outcomeOf(await phone.call(`777${round}`))).toBe('404 Not Found')
        if (!(await flood).map(outcomeOf).includes('503 Service Unavailable')) await underFlood(round + 1)
      }
      await underFlood()
    } finally {
      await busy.end()
    }
  })

  describe('refuses a call', () => {
    const outside = '+14155550199'
    const out = { numbers: ['no_match'], flow: { module: 'resources', data: {}, children: {} } }

    it.each<[string, string, string, string, (office: Office) => Promise<unknown>]>([
      [
        'that would be paid for by the minute, without credit',
        outside,
        '402 Payment Required',
        'no_credit',
        ({ account, put }) => put(`${account.path}/callflows`, out),
      ],
      [
        'to a kind of number that is forbidden',
        outside,
        '403 Forbidden',
        'forbidden_classifier',
        async ({ account, device, put, patch }) => {
          await put(`${account.path}/callflows`, out)
          await patch(device.path, { call_restriction: { did_us: { action: 'deny' } } })
        },
      ],
      [
        'to a flow that hangs up',
        '7778',
        '603 Decline',
        'hung_up',
        ({ account, put }) =>
          put(`${account.path}/callflows`, {
            numbers: ['7778'],
            flow: { module: 'hangup', data: {}, children: {} },
          }),
      ],
      ['to an unknown number', '7777', '404 Not Found', 'unknown_number', async () => undefined],
      [
        'of an account that may have none at once',
        '7777',
        '503 Service Unavailable',
        'limit_reached',
        ({ account, post }) => post(`${account.path}/limits`, { calls: 0 }),
      ],
    ])('%s', async (_, number, outcome, reason, prepare) => {
      const made = await office()
      await prepare(made)
      expect(outcomeOf(await made.phone.call(number))).toBe(outcome)
      const facts = { method: 'INVITE', number, reason, sip_code: Number(outcome.slice(0, 3)) }
      expect(await toldTo(made)).toEqual(refusal(made, facts))
    })
  })

  it('applies a changed access list to packets soon after the answer', async () => {
    const made = await office()
    expect(outcomeOf(await made.phone.register())).toBe('200 OK')
    for (const [cidr, expected] of [
      ['10.0.0.0/8', '403 Forbidden'],
      ['127.0.0.0/8', '200 OK'],
    ] as const) {
      await made.post(`${made.account.path}/access_lists`, { order: 'allow,deny', cidrs: [cidr] })
      await eventually(
        async () => outcomeOf(await made.phone.register()),
        (outcome) => outcome === expected,
      )
    }
  })
})
