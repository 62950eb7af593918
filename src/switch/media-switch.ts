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

export interface Heard<Found> {
  found: readonly Found[]
  /** Hosts of edges that did not answer: more may be there. */
  unreachable: readonly string[]
}

/** Items are read while the edges are queried. An edge that does not respond is not queried about the rest. */
export type Batches<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>
