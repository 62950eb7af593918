import { failure } from '../lib/failure.ts'

/** A phone as a media switch knows it. */
export interface Phone {
  accountId: string
  deviceId: string
  /** SIP user name. Phones that are known by their address may have none. */
  username: string | undefined
  realm: string
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

/** What this server asks of the machine that carries the calls. */
export interface MediaSwitch {
  /** The ids of the account's devices that are registered now. */
  registered(accountId: string): Promise<ReadonlySet<string>>
  /** Forgets the registrations of phones whose credentials no longer hold. */
  endRegistrations(phones: readonly Phone[]): Promise<void>
  notify(phone: Phone, notice: Notice): Promise<void>
  /** Tells phones to fetch their settings again. */
  sync(phones: readonly Phone[], restart: 'reboot' | 'reload'): Promise<void>
  /** Starts a call. `ended` tells how it went. */
  startQuickcall(call: Quickcall): Promise<{ ended: Promise<Readonly<Record<string, unknown>>> }>
}

const unavailable = () => Promise.reject(failure('no_media_switch', {}))

/** Nothing can be registered here, so nothing is, and there is nothing to end; everything else fails. */
export const noMediaSwitch: MediaSwitch = {
  registered: async () => new Set(),
  endRegistrations: async () => undefined,
  notify: unavailable,
  sync: unavailable,
  startQuickcall: unavailable,
}
