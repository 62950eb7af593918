// Common parts of the classes of refused requests.
import type { Chance } from '../../test/fuzz/chance.ts'
import type { Persona } from '../model.ts'
import type { Stage } from '../stage.ts'
import type { WireRequest } from '../wire.ts'

export interface Asked {
  chance: Chance
  stage: Stage
  persona: Persona
}

/** Requests that the server must reject from these personas, whatever other personas have done before in the round. */
export interface RefusedClass {
  /** As findings and figures name it. */
  title: string
  /**
   * A drawn class is used once in this number of cases, because some requests cost much more than others.
   * Default: 1.
   */
  oneIn?: number
  isFor(persona: Persona): boolean
  make(asked: Asked): WireRequest
  /** If present, the server may answer with success, but without this text. */
  secretOf?(persona: Persona): string | undefined
}

export const jsonType = { 'content-type': 'application/json' }

export const homeOf = ({ home }: Persona) => `/v2/accounts/${home.id}`

export const ask = ({ headers }: Persona, method: string, path: string): WireRequest => ({
  method,
  path,
  headers,
  body: undefined,
})

/** `envelope`: keys next to `data`. */
export const asJson = (
  persona: Persona,
  method: string,
  path: string,
  data: unknown,
  envelope: object = { accept_charges: true },
): WireRequest => ({
  method,
  path,
  headers: { ...persona.headers, ...jsonType },
  body: Buffer.from(JSON.stringify({ data, ...envelope })),
})

export const isOperator = ({ actor }: Persona) => actor?.tenant.isMaster === true && actor.kind !== 'user'

export const isOrdinaryUser = ({ actor }: Persona) => actor?.kind === 'user'

export const isAnyone = () => true

/** Creates a record, or changes one of the account: `place` is the path of a list below it. */
export const write = (
  { chance, persona }: Asked,
  place: string,
  ids: readonly string[] | undefined,
  data: object,
) => {
  const path = `${homeOf(persona)}/${place}`
  if (!ids || ids.length === 0 || chance.once(2)) return asJson(persona, 'PUT', path, data)
  return asJson(persona, chance.pick(['POST', 'PATCH']), `${path}/${chance.pick(ids)}`, data)
}
