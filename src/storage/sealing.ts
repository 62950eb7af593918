import { isObject, type Json } from '../lib/json.ts'
import { mapSecrets, maskSecrets, namesSecret } from '../lib/secrets.ts'

/** `context` binds a text to its place. */
interface Sealer {
  seal(text: string, context: string): string
  open(sealed: string, context: string): string
}

interface Place {
  accountId: string
  kind: string
  id: string
}

/** The schema with the marks of secrets, by id. */
export type SecretsOf = (id: string) => object | undefined

const key = '$sealed'
const beginning = `{"${key}":"`

const contextOf = ({ accountId, kind, id }: Place) => `record/${kind}/${accountId}/${id}`

const sealedIn = (value: Json) => {
  const { [key]: sealed, ...others } = value
  return typeof sealed === 'string' && Object.keys(others).length === 0 ? sealed : undefined
}

export type Sealing = ReturnType<typeof createSealing>

/** Encrypts secrets in stored documents. Schemas and names mark them. */
export const createSealing = () => {
  const kinds = new Map<string, SecretsOf>()
  let sealer: Sealer | undefined

  const openOne = (place: Place, sealed: string): { value: unknown } | undefined => {
    try {
      return sealer && { value: JSON.parse(sealer.open(sealed, contextOf(place))) }
    } catch {
      // A client may have sent such an object.
      return undefined
    }
  }

  const opened = (place: Place, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => opened(place, item))
    if (!isObject(value)) return value
    const sealed = sealedIn(value)
    const found = sealed === undefined ? undefined : openOne(place, sealed)
    if (found) return found.value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, opened(place, inner)]))
  }

  const sealOne = (place: Place, value: unknown) => {
    if (!sealer) throw new Error(`a secret of a ${place.kind} cannot be stored without the server's key`)
    return { [key]: sealer.seal(JSON.stringify(value), contextOf(place)) }
  }

  const schemaOf = ({ kind, id }: Pick<Place, 'kind' | 'id'>) => kinds.get(kind)?.(id)

  const hasSecrets = (place: Place, docText: string) => namesSecret(docText, schemaOf(place))

  return {
    /** Until this is called, secrets can be neither read nor stored. */
    use(key: Sealer) {
      sealer = key
    },

    declare: (kind: string, secretsOf: SecretsOf) => void kinds.set(kind, secretsOf),

    shut: (place: Place, docText: string): string =>
      hasSecrets(place, docText)
        ? JSON.stringify(mapSecrets(schemaOf(place), JSON.parse(docText), (value) => sealOne(place, value)))
        : docText,

    /** Whether all secrets in a stored text are encrypted. */
    isShut(place: Place, stored: string): boolean {
      if (!hasSecrets(place, stored)) return true
      let found = false
      mapSecrets(schemaOf(place), JSON.parse(stored), (value) => {
        const sealed = isObject(value) ? sealedIn(value) : undefined
        found ||= sealed === undefined || openOne(place, sealed) === undefined
        return value
      })
      return !found
    },

    open: (place: Place, stored: string): string =>
      sealer && stored.includes(beginning) ? JSON.stringify(opened(place, JSON.parse(stored))) : stored,

    schemaOf,

    masked: (subject: Pick<Place, 'kind' | 'id'>, docText: string | undefined) =>
      docText === undefined ? undefined : maskSecrets(docText, schemaOf(subject)),
  }
}
