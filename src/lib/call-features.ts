// What is switched on for an endpoint, as list rows tell it.

type Doc = Readonly<Record<string, unknown>>

export const isEnabled = (value: unknown) => (value as { enabled?: boolean } | undefined)?.enabled === true

/** Any enabled form of forwarding counts. */
export const hasCallForward = ({ call_forward: forward }: Doc) =>
  isEnabled(forward) || Object.values((forward ?? {}) as object).some(isEnabled)

export const hasExternalNumber = ({ caller_id: callerId }: Doc) =>
  Boolean((callerId as { external?: { number?: string } } | undefined)?.external?.number)

export const hasMusicOnHold = ({ music_on_hold: music }: Doc) =>
  Boolean((music as { media_id?: string } | undefined)?.media_id)
