import type { AccountRecord, Actor } from '../../auth/identity.ts'
import type { Policy } from '../../auth/policies.ts'

// What an area is to the wire that serves clients over WebSocket, and the wire to it.

/** A client that has switched to WebSocket. */
export interface Connection {
  readonly id: string
  readonly clientAddress: string
  /** Unix milliseconds. */
  readonly openedAt: number
  /** Takes the price of a command from the bucket of the connection, or fails. */
  pay(): Promise<unknown>
  /** The actor behind a token, judged as for a request from where the client is; or the failure. */
  admit(token: string): Promise<Actor>
  /** Fails unless the actor might read this by GET. */
  assertMayRead(actor: Actor, account: AccountRecord, as: { endpoint: string; allow: Policy }): Promise<void>
  /** What the client asked for. */
  answer(text: string): void
  /** What it did not ask for here and now: dropped while more waits for a slow reader than it may. */
  offer(text: string): void
}

/** What is said with one client. */
export interface Session {
  /** Hears one message; the next one comes when that is done. */
  hear(text: string): Promise<void>
  /** Whether it waits for something: who does not, and says nothing, is sent away. */
  isInUse(): boolean
  end(): void
}

/** What connections may take. */
export interface ConnectionLimits {
  connections: number
  connectionsPerAddress: number
  /** Messages that wait to be heard; more are not read. */
  unanswered: number
  /** Offered messages that wait for the client, and bytes. */
  queued: number
  queuedBytes: number
  /** Offers dropped in a row: then the connection is closed. */
  dropped: number
  idleSeconds: number
  pingSeconds: number
}

/** What is served at some paths to clients that switch to WebSocket. */
export interface Upgrade {
  paths: readonly string[]
  /** The word that prices know an upgrade and its commands by, and the bucket of each connection. */
  application: string
  limits(): Promise<ConnectionLimits>
  open(connection: Connection): Session
}
