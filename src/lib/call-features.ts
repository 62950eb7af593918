// What is switched on for an endpoint, as list rows tell it.

import { memberOf } from './member.ts'

type Doc = Readonly<Record<string, unknown>>

export const isEnabled = (value: unknown) => memberOf(value, 'enabled') === true

/** Any enabled form of forwarding counts. */
export const hasCallForward = ({ call_forward: forward }: Doc) =>
  isEnabled(forward) || Object.values((forward ?? {}) as object).some(isEnabled)

export const hasExternalNumber = ({ caller_id: callerId }: Doc) =>
  Boolean(memberOf(callerId, 'external', 'number'))

export const hasMusicOnHold = ({ music_on_hold: music }: Doc) => Boolean(memberOf(music, 'media_id'))
