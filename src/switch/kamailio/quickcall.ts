import { setTimeout as sleep } from 'node:timers/promises'
import { randomHex } from '../../lib/ids.ts'
import { present } from '../../lib/json.ts'
import type { Quickcall } from '../media-switch.ts'
import { callsFrom } from './calls.ts'
import { reasonOf } from './edges.ts'
import type { Contact } from './registrations.ts'
import {
  addressOf,
  edgeContact,
  headerIn,
  hostPart,
  identityOf,
  paramsOf,
  quoted,
  type SipRequest,
} from './requests.ts'

type RingOutcome = 'answered' | 'unanswered'

interface QuickcallEnd {
  [key: string]: unknown
  hangup_cause: string
  sip_code: number
  call_id?: string
  device_id?: string
  destination?: RingOutcome
}

interface Attempt {
  contact: Contact
  callId: string
}

const causes: Readonly<Record<number, string>> = {
  200: 'NORMAL_CLEARING',
  404: 'UNALLOCATED_NUMBER',
  408: 'NO_ANSWER',
  480: 'NO_USER_RESPONSE',
  486: 'USER_BUSY',
  487: 'NO_ANSWER',
  600: 'USER_BUSY',
  603: 'CALL_REJECTED',
}

const causeOf = (code: number) =>
  causes[code] ?? (code >= 500 && code < 600 ? 'NORMAL_TEMPORARY_FAILURE' : 'CALL_REJECTED')

// A call without voice: the phone gets the number to call before any party speaks.
const silence = [
  'v=0',
  'o=edge 0 0 IN IP4 0.0.0.0',
  's=quickcall',
  'c=IN IP4 0.0.0.0',
  't=0 0',
  'm=audio 9 RTP/AVP 8 0',
  'a=rtpmap:8 PCMA/8000',
  'a=rtpmap:0 PCMU/8000',
  'a=inactive',
  '',
].join('\r\n')

const ringPollMs = 500

/** The phone shows the number that it will call, unless the request sets something else. */
const shownAs = ({ phoneDisplay, number }: Quickcall, { phone: { realm } }: Contact) => {
  const shown = phoneDisplay.number ?? number
  return `${quoted(phoneDisplay.name ?? shown)} <${addressOf({ username: shown, realm })}>`
}

/** Two headers, because phones differ in which one they obey. */
const answering = (realm: string) =>
  [
    ['Call-Info', `<sip:${hostPart(realm)}>;answer-after=0`],
    ['Alert-Info', `<sip:${hostPart(realm)}>;info=alert-autoanswer;delay=0`],
  ] as const

const inviteOf = (call: Quickcall, { contact, callId }: Attempt): SipRequest => ({
  method: 'INVITE',
  headers: [
    ['From', shownAs(call, contact)],
    ['To', `<${identityOf(contact)}>`],
    ['Call-ID', callId],
    ['CSeq', '1 INVITE'],
    ['Contact', edgeContact],
    ['Allow', 'INVITE, ACK, CANCEL, BYE, NOTIFY'],
    ['Content-Type', 'application/sdp'],
    ...(call.autoAnswer ? answering(contact.phone.realm) : []),
  ],
  body: silence,
})

/** Parts of the edge's answer: code, reason, target, next hop, route and headers. A refusal has fewer. */
const answeredBy = ({ contact, callId }: Attempt, answer: readonly unknown[]) => {
  const [, , target, nextHop, route, headers] = answer.map(String)
  return {
    contact,
    callId,
    from: headerIn(headers ?? '', 'From') ?? '',
    to: headerIn(headers ?? '', 'To') ?? '',
    target: target ?? '',
    nextHop: nextHop ?? '',
    route: (route ?? '').replace(/^Route: /, ''),
  }
}

type Answered = ReturnType<typeof answeredBy>

/** A request within the dialog. A phone without a route is reached where its registration came from. */
const within = (answered: Answered, sequence: number, { method, headers }: SipRequest) => {
  const { contact, callId, from, to, target, nextHop, route } = answered
  const params = paramsOf(contact, {
    method,
    uri: target,
    headers: [
      ['From', from],
      ['To', to],
      ['Call-ID', callId],
      ['CSeq', `${sequence} ${method}`],
      ['Contact', edgeContact],
      ...(route === '' ? [] : [['Route', route] as const]),
      ...headers,
    ],
  })
  if (route !== '') params[2] = nextHop
  return params
}

const referOf = (contact: Contact, number: string): SipRequest => ({
  method: 'REFER',
  headers: [
    ['Refer-To', `<${addressOf({ username: number, realm: contact.phone.realm })}>`],
    ['Referred-By', `<${identityOf(contact)}>`],
    // The edge sees the progress.
    ['Refer-Sub', 'false'],
    ['Supported', 'norefersub'],
  ],
})

const bye: SipRequest = { method: 'BYE', headers: [] }

const failed = (error: unknown): QuickcallEnd => ({
  hangup_cause: 'NETWORK_OUT_OF_ORDER',
  sip_code: 503,
  message: reasonOf(error),
})

/**
 * Rings all contacts without voice. The first phone that answers is referred to the number, and calls it with
 * its own credentials, limits and prices. Returns the result of the phone that answered, else of the last one.
 */
export const ringPhones = async (
  call: Quickcall,
  contacts: readonly Contact[],
  timeoutMs: number,
): Promise<QuickcallEnd> => {
  const attempts = contacts.map((contact): Attempt => ({ contact, callId: `quickcall-${randomHex(16)}` }))
  const ringMs = call.timeoutSeconds * 1000
  let winner: Attempt | undefined

  /** The code of the final response, and the rest. */
  const wait = async ({ at }: Contact, params: readonly unknown[], forMs: number) => {
    const answer = await at.ask('tm.t_uac_wait', params, forMs)
    return Array.isArray(answer) ? answer : []
  }

  /** Fails silently: the phone may no longer ring. */
  const takeBack = ({ contact: { at }, callId }: Attempt) =>
    at.ask('tm.cancel', [callId, '1'], timeoutMs).catch(() => undefined)

  const hangUp = (answered: Answered, sequence: number) =>
    answered.contact.at
      .ask('tm.t_uac_start', within(answered, sequence, bye), timeoutMs)
      .catch(() => undefined)

  /** The calls of a phone to the number. */
  const callsOf = async (contact: Contact) => {
    const to = addressOf({ username: call.number, realm: contact.phone.realm })
    return (await callsFrom(contact.at, identityOf(contact))).filter((one) => one.to === to)
  }

  /** State of the phone's call at the edge. Undefined: no call. */
  const followUp = async (
    contact: Contact,
    before: ReadonlySet<string>,
  ): Promise<RingOutcome | undefined> => {
    let isBegun = false
    for (let waitedMs = 0; waitedMs < ringMs; waitedMs += ringPollMs) {
      await sleep(ringPollMs, undefined, { ref: false })
      const calls = (await callsOf(contact)).filter(({ callId }) => !before.has(callId))
      if (calls.some(({ isAnswered }) => isAnswered)) return 'answered'
      if (isBegun && calls.length === 0) return 'unanswered'
      isBegun ||= calls.length > 0
    }
    return isBegun ? 'unanswered' : undefined
  }

  const refer = async (answered: Answered): Promise<QuickcallEnd> => {
    const { contact, callId } = answered
    const facts = { call_id: callId, device_id: contact.phone.deviceId }
    const before = await callsOf(contact).catch(() => [])
    const request = within(answered, 2, referOf(contact, call.number))
    const [code = 408] = await wait(contact, request, timeoutMs).catch(() => [])
    await hangUp(answered, 3)
    if (Number(code) >= 300) return { hangup_cause: causeOf(Number(code)), sip_code: Number(code), ...facts }
    const known = new Set(before.map((one) => one.callId))
    const destination = await followUp(contact, known).catch(() => undefined)
    const end = { ...facts, ...present({ destination }) }
    return destination === 'unanswered'
      ? { hangup_cause: 'NO_ANSWER', sip_code: 480, ...end }
      : { hangup_cause: 'NORMAL_CLEARING', sip_code: 200, ...end }
  }

  /** Undefined: another contact was faster. */
  const ring = async (attempt: Attempt): Promise<QuickcallEnd | undefined> => {
    const { contact, callId } = attempt
    const params = paramsOf(contact, inviteOf(call, attempt))
    const answer = await wait(contact, params, ringMs + 2 * timeoutMs)
    const code = Number(answer[0] ?? 500)
    if (code >= 300) return { hangup_cause: causeOf(code), sip_code: code, call_id: callId }
    const answered = answeredBy(attempt, answer)
    if (winner) {
      await hangUp(answered, 2)
      return undefined
    }
    winner = attempt
    const others = attempts.filter((one) => one !== attempt)
    const [end] = await Promise.all([refer(answered), ...others.map(takeBack)])
    return end
  }

  const timer = setTimeout(() => {
    if (!winner) for (const attempt of attempts) void takeBack(attempt)
  }, ringMs)
  try {
    const ends = await Promise.all(attempts.map((attempt) => ring(attempt).catch(failed)))
    const known = ends.filter((end) => end !== undefined)
    return known.find((end) => end.device_id !== undefined) ?? known.at(-1) ?? failed('no party was called')
  } finally {
    clearTimeout(timer)
  }
}
