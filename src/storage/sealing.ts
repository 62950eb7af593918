import { isObject, type Json } from '../lib/json.ts'
import { mapSecrets, maskSecrets, namesSecret } from '../lib/secrets.ts'

/** Encrypts with the server's key; `context` binds a text to its place. */
interface Sealer {
  seal(text: string, context: string): string
  open(sealed: string, context: string): string
}

/** Where a document is stored. */
interface Place {
  accountId: string
  kind: string
  id: string
}

/** Which secrets the documents of a kind hold: their schema, by the id of the record. */
export type SecretsOf = (id: string) => object | undefined

const key = '$sealed'
const beginning = `{"${key}":"`

const contextOf = ({ accountId, kind, id }: Place) => `record/${kind}/${accountId}/${id}`

const sealedIn = (value: Json) => {
  const { [key]: sealed, ...others } = value
  return typeof sealed === 'string' && Object.keys(others).length === 0 ? sealed : undefined
}

export type Sealing = ReturnType<typeof createSealing>

/**
 * Secrets within stored documents: sealed on their way into the store, opened on their way out, so that whoever holds a
 * record holds them in clear and whoever holds the database holds nothing. Which fields they are, schemas say.
 */
export const createSealing = () => {
  const kinds = new Map<string, SecretsOf>()
  let sealer: Sealer | undefined

  const openOne = (place: Place, sealed: string): { value: unknown } | undefined => {
    try {
      return sealer && { value: JSON.parse(sealer.open(sealed, contextOf(place))) }
    } catch {
      // A client may have sent what looks like this.
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
    /** The key is there from now on. Before that nothing can be opened, and no secret be stored. */
    use(key: Sealer) {
      sealer = key
    },

    /** Says what is secret in documents of a kind beside what is called like a secret. */
    declare: (kind: string, secretsOf: SecretsOf) => void kinds.set(kind, secretsOf),

    /** A document's text as it is stored. */
    shut: (place: Place, docText: string): string =>
      hasSecrets(place, docText)
        ? JSON.stringify(mapSecrets(schemaOf(place), JSON.parse(docText), (value) => sealOne(place, value)))
        : docText,

    /** Whether a stored text holds no secret in clear. */
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

    /** A stored text as it was before. */
    open: (place: Place, stored: string): string =>
      sealer && stored.includes(beginning) ? JSON.stringify(opened(place, JSON.parse(stored))) : stored,

    /** Which fields are secret beside those that are called so. */
    schemaOf,

    /** The text without its secrets. */
    masked: (subject: Pick<Place, 'kind' | 'id'>, docText: string | undefined) =>
      docText === undefined ? undefined : maskSecrets(docText, schemaOf(subject)),
  }
}
