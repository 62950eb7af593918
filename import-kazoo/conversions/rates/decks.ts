import { derivedId } from '../../documents/derived-id.ts'
import { textIn } from '../../documents/fields.ts'
import type { Said } from '../plans/prices.ts'

const isDeckId = (id: string) => /^[A-Za-z0-9_.-]{1,64}$/.test(id)

/** The name of a deck as it can be written here; `ratedeck/gold` is the database of the deck `gold`. */
export const ratedeckId = (id: string) => {
  const behind = id.startsWith('ratedeck/') ? id.slice('ratedeck/'.length) : id
  return isDeckId(behind) ? behind : derivedId('ratedeck', behind, 'deck')
}

/** A deck that services or plans name; undefined when they name none. */
export const ratedeckNamed = (
  ratedeck: unknown,
  say: (said: Said) => void,
): { id?: string; name?: string } | undefined => {
  const [said, name] = [textIn(ratedeck, 'id'), textIn(ratedeck, 'name')]
  if (said === undefined) return name === undefined ? undefined : { name }
  const id = ratedeckId(decoded(said))
  if (id !== said)
    say({ severity: 'repaired', code: 'ratedeck_renamed', field: 'ratedeck.id', old: said, new: id })
  return { id, ...(name === undefined ? {} : { name }) }
}

const decoded = (id: string) => id.replaceAll('%2F', '/').replaceAll('%2f', '/')
