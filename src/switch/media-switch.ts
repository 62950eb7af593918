import { failure, mediaSwitchMissing } from '../lib/failure.ts'

/** A phone as a media switch knows it. */
export interface Phone {
  accountId: string
  deviceId: string
  /** SIP user name. Phones that are known by their address may have none. */
  username: string | undefined
  realm: string
}

/** What a phone, or a server of a trunk, is registered as. */
export type Identity = Pick<Phone, 'username' | 'realm'>

/** A side of a call. */
export interface Party {
  accountId: string
  /** `device`, `trunk`, `gateway`. */
  type: string
  /** Empty if the edge knows only the account. */
  id: string
  /** Of a trunk: what the edge knows of the server. One that matches identifies it; names are without `|`. */
  server?: {
    username?: string | undefined
    name?: string | undefined
    /** Host in a SIP address. */
    host?: string | undefined
  }
}

/** A SIP NOTIFY. */
export interface Notice {
  event: string
  body?: { contentType: string; content: string }
}

export interface Quickcall {
  /** What rings first; the number is called when one of them answers. */
  phones: readonly Phone[]
  number: string
  callerId: { name: string; number?: string }
  /** What the phones show while they ring. */
  phoneDisplay: { name?: string; number?: string }
  autoAnswer: boolean
  ignoreEarlyMedia: boolean
  media?: 'bypass' | 'process'
  timeoutSeconds: number
  /** The call that the phones take part in already. */
  targetCallId?: string
  applicationVariables: Readonly<Record<string, unknown>>
}

/** A contact under which a phone can be reached. */
export interface Registration {
  phone: Phone
  /** SIP address, as the phone has said it. */
  contact: string
  /** SIP address from where it was said, where that differs. */
  received: string | undefined
  userAgent: string | undefined
  callId: string
  /** What is left of it. */
  expiresSeconds: number
  /** Unix seconds of the last time it was said. */
  registeredAt: number
  /** Host of the edge that knows it. */
  edge: string
  /** Where the edge took it: `udp:192.0.2.1:5060`. */
  socket: string | undefined
}

/** A call that goes on. */
export interface ActiveCall {
  callId: string
  from: string
  to: string
  isAnswered: boolean
  /** Unix seconds. */
  began: number
  answered: number | undefined
  /** SIP addresses under which the two ends are. */
  contacts: { caller: string | undefined; callee: string | undefined }
  /** The side that has answered. */
  called: Party | undefined
  /** What the edge was told of it: `account_id`, `authorizing_id`, `owner_id`, `direction`, ... */
  variables: Readonly<Record<string, string>>
  /** Host of the edge that carries it. */
  edge: string
}

/** What those edges said that answered. */
export interface Heard<Found> {
  found: readonly Found[]
  /** Hosts of the edges that did not: more may be known there. */
  unreachable: readonly string[]
}

/** Many, read while the edges are asked: an edge that does not answer is not asked about the rest. */
export type Batches<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>

/** What this server asks of the machines that carry the calls. It fails with `media_switch_unreachable` where none answers. */
export interface MediaSwitch {
  /** The contacts of phones that are registered now. */
  registrations(phones: readonly Phone[]): Promise<Heard<Registration>>
  /** Forgets the registrations of phones. `hosts`: of the edges to ask, all if absent. Answers with the hosts of edges that could not be told. */
  endRegistrations(phones: Batches<Identity>, hosts?: readonly string[]): Promise<readonly string[]>
  /** Sends it to each contact of a phone. Answers with how many there are. */
  notify(phone: Phone, notice: Notice): Promise<number>
  /** Starts a call. `ended` tells how it went. */
  startQuickcall(call: Quickcall): Promise<{ ended: Promise<Readonly<Record<string, unknown>>> }>
  /** The calls of an account. */
  calls(accountId: string): Promise<Heard<ActiveCall>>
  /** One of them. */
  call(accountId: string, callId: string): Promise<ActiveCall | undefined>
  /** Ends one of them. False: there is none any more. */
  hangUp(accountId: string, callId: string): Promise<boolean>
  /**
   * Ends the calls in which a side that belongs to one of the accounts is to end, except calls to emergency numbers. `hosts`: of the
   * edges to ask, all if absent. Returns the hosts of edges that did not answer.
   */
  endCalls(
    accountIds: Batches<string>,
    isToEnd: (party: Party) => Promise<boolean>,
    hosts?: readonly string[],
  ): Promise<readonly string[]>
}

const unavailable = () => Promise.reject(failure(mediaSwitchMissing, {}))
const empty = async () => ({ found: [], unreachable: [] })

/** Without a switch no phone is registered and no call is active. Requests to a phone fail with `no_media_switch`. */
export const noMediaSwitch: MediaSwitch = {
  registrations: empty,
  endRegistrations: async () => [],
  notify: unavailable,
  startQuickcall: unavailable,
  calls: empty,
  call: async () => undefined,
  hangUp: async () => false,
  endCalls: async () => [],
}
