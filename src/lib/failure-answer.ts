/** What a failure looks like on the wire. */
export interface FailureAnswer {
  status: number
  message: string
  data: unknown
  metadata?: Record<string, unknown>
  /** Further keys of the envelope. */
  extra?: Record<string, string>
  headers?: Record<string, string>
}

export type Renderers<Details> = { [K in keyof Details]: (details: Details[K]) => FailureAnswer }

/** The wire forms of kinds, each of which knows what its own details are. */
export type Catalogue = Readonly<Record<string, (details: never) => FailureAnswer>>

/** What each kind of a catalogue has to be told. */
export type DetailsOf<Kinds extends Catalogue> = {
  [K in keyof Kinds]: Kinds[K] extends (details: infer Details) => FailureAnswer
    ? unknown extends Details
      ? Record<never, never>
      : Details
    : never
}

/** A failure that always says the same. */
export const plain =
  (status: number, message: string, text = message.replaceAll('_', ' ')) =>
  (): FailureAnswer => ({ status, message, data: { message: text } })
