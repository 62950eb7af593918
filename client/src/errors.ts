/** What every answer but files and CSV is wrapped in. */
export interface Envelope<Data = unknown> {
  data: Data
  metadata: Readonly<Record<string, unknown>>
  status: 'success' | 'error'
  request_id: string
  node: string
  timestamp: string
  /** The revision for `ifMatch`; an MD5 for lists. */
  revision?: string
  auth_token?: string
  version?: string
  message?: string
  error?: string
  /** The ID of the quote in a 402 `accept charges`. */
  quote_id?: string
  page_size?: number
  start_key?: string
  /** Absent on the last page. */
  next_start_key?: string
}

/** One broken rule of one field of a refused request. */
export interface Problem {
  /** Dotted path, such as `sip.username`. */
  field: string
  /** Such as `required`, `maxLength`, `unique`. */
  rule: string
  message: string
  /** The bound that was broken. */
  target?: unknown
  value?: unknown
}

export interface ErrorFacts {
  /** Of HTTP; 0 when there was no answer. */
  status: number
  kind: string
  message: string
  problems?: readonly Problem[]
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  envelope?: Envelope | undefined
  cause?: unknown
}

/** A request that did not succeed. */
export class CrosspointError extends Error {
  readonly status: number
  /** The envelope's `message`, such as `validation error` or `not_found`; `unreachable` without an answer. */
  readonly kind: string
  readonly problems: readonly Problem[]
  /** To quote when asking the operator. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly envelope: Envelope | undefined

  constructor({ status, kind, message, problems = [], requestId, ...rest }: ErrorFacts) {
    super(message, rest.cause === undefined ? undefined : { cause: rest.cause })
    this.name = new.target.name
    this.status = status
    this.kind = kind
    this.problems = problems
    this.requestId = requestId
    this.retryAfterSeconds = rest.retryAfterSeconds
    this.envelope = rest.envelope
  }
}

/** There was no answer within the client's patience. Whether a write was carried out is not known. */
export class Unreachable extends CrosspointError {
  constructor(cause: unknown) {
    super({ status: 0, kind: 'unreachable', message: 'the server cannot be reached', cause })
  }
}

/** The session has ended, and no user has signed in again. */
export class SignedOut extends CrosspointError {}

/** Dollars. */
export interface QuoteSummary {
  /** Activations, prorations and the taxes added to them. */
  today: number
  /** Each month, without the taxes that are added. */
  recurring: number
  taxes?: number
  /** Each month, with taxes. */
  total?: number
}

export interface QuotedItem {
  category?: string
  item?: string
  name?: string
  quantity?: number
  rate?: number
  total?: number
  [more: string]: unknown
}

/** What one bookkeeper would charge from now on. */
export interface QuotedInvoice {
  items: readonly QuotedItem[]
  activation_charges: readonly QuotedItem[]
  prorations: readonly Readonly<Record<string, unknown>>[]
  taxes: readonly Readonly<Record<string, unknown>>[]
  summary: QuoteSummary
  bookkeeper: Readonly<Record<string, unknown>>
}

/** The request causes charges that were not accepted: nothing was changed. */
export class ChargesNeeded extends CrosspointError {
  readonly invoices: readonly QuotedInvoice[]
  readonly #accept: () => Promise<Envelope>

  constructor(facts: ErrorFacts, invoices: readonly QuotedInvoice[], accept: () => Promise<Envelope>) {
    super(facts)
    this.invoices = invoices
    this.#accept = accept
  }

  /** Dollars over all invoices. */
  get today() {
    return this.invoices.reduce((sum, { summary }) => sum + summary.today, 0)
  }

  /** Dollars each month over all invoices, without the taxes that are added. */
  get recurring() {
    return this.invoices.reduce((sum, { summary }) => sum + summary.recurring, 0)
  }

  /** Agrees: sends the same request again. However often it is called, it is carried out once. */
  accept(): Promise<Envelope> {
    return this.#accept()
  }
}

/** Another client has changed the record since it was read: nothing was changed. */
export class StaleEdit extends CrosspointError {
  readonly #current: () => Promise<Envelope>

  constructor(facts: ErrorFacts, current: () => Promise<Envelope>) {
    super(facts)
    this.#current = current
  }

  /** The record as it is now. */
  current(): Promise<Envelope> {
    return this.#current()
  }
}
