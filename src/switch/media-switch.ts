export interface Phone {
  accountId: string
  deviceId: string
  /** Phones that are known by their address may have none. */
  username: string | undefined
  realm: string
}

export type Identity = Pick<Phone, 'username' | 'realm'>

export interface Party {
  accountId: string
  /** `device`, `trunk`, `gateway`. */
  type: string
  /** Empty if the edge knows only the account. */
  id: string
  /** What the edge knows of a trunk's server. One match identifies it. Names are without `|`. */
  server?: {
    username?: string | undefined
    name?: string | undefined
    host?: string | undefined
  }
}

export interface Notice {
  event: string
  body?: { contentType: string; content: string }
}

export interface Quickcall {
  /** The number is called when one of them answers. */
  phones: readonly Phone[]
  number: string
  /** What the phones show while they ring. */
  phoneDisplay: { name?: string; number?: string }
  autoAnswer: boolean
  timeoutSeconds: number
}

export interface Registration {
  phone: Phone
  /** SIP address that the phone stated. */
  contact: string
  /** SIP address that the edge saw, if it differs. */
  received: string | undefined
  userAgent: string | undefined
  callId: string
  expiresSeconds: number
  /** Unix seconds of the last REGISTER. */
  registeredAt: number
  /** Host of the edge. */
  edge: string
  /** The edge's socket: `udp:192.0.2.1:5060`. */
  socket: string | undefined
}

export interface ActiveCall {
  callId: string
  from: string
  to: string
  isAnswered: boolean
  /** Unix seconds. */
  began: number
  answered: number | undefined
  /** SIP addresses of both sides. */
  contacts: { caller: string | undefined; callee: string | undefined }
  /** The side that has answered. */
  called: Party | undefined
  /** Variables that the edge got: `account_id`, `authorizing_id`, `owner_id`, `direction`, ... */
  variables: Readonly<Record<string, string>>
  /** Host of the edge. */
  edge: string
}

export interface Heard<Found> {
  found: readonly Found[]
  /** Hosts of edges that did not answer: more may be there. */
  unreachable: readonly string[]
}

/** Read while the edges are asked. An edge that does not answer is not asked about the rest. */
export type Batches<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>
