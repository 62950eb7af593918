// Requests that the server must reject, by class. Each targets the persona's home account.
import type { Chance } from '../test/fuzz/chance.ts'
import type { Persona, Refusal } from './model.ts'
import type { RefusedClass } from './refused/asked.ts'
import { destinations } from './refused/destinations.ts'
import { hostNames } from './refused/host-names.ts'
import {
  accounts,
  endedSessions,
  replacedKeys,
  replacedKeysInAccount,
  scopes,
  users,
} from './refused/rights.ts'
import { controlCharacters, encodings, hosts, manyKeys } from './refused/texts.ts'
import type { Stage } from './stage.ts'
import type { WireRequest } from './wire.ts'

export interface RefusedRequest {
  refusal: Refusal
  request: WireRequest
}

export const refusedClasses: readonly RefusedClass[] = [
  destinations,
  hostNames,
  controlCharacters,
  manyKeys,
  encodings,
  hosts,
  scopes,
  users,
  accounts,
  endedSessions,
  replacedKeys,
  replacedKeysInAccount,
]

/** A request of a class that is for this persona; undefined if the class that was drawn is too expensive this time. */
export const refusedRequest = (
  chance: Chance,
  stage: Stage,
  persona: Persona,
): RefusedRequest | undefined => {
  const drawn = chance.pick(refusedClasses.filter(({ isFor }) => isFor(persona)))
  if (!chance.once(drawn.oneIn ?? 1)) return undefined
  const secret = drawn.secretOf?.(persona)
  return {
    refusal: { title: drawn.title, ...(secret === undefined ? {} : { secret }) },
    request: drawn.make({ chance, stage, persona }),
  }
}
