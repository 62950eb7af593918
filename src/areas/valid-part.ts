import type { TSchema } from 'typebox'
import { hasProblems, type Problems } from '../lib/failure.ts'
import { isObject, type Json } from '../lib/json.ts'
import { memberOf } from '../lib/member.ts'
import { placeOf } from '../lib/property-path.ts'
import { createRemoval, type Place, type Removed } from '../lib/removal.ts'
import type { Validate } from './area.ts'

// Very large documents report one error at a time. After this number of rounds whole fields are removed.
const maxSingleRounds = 500

/** The valid part of a document, and the removed paths. */
interface ValidPart {
  doc: Json
  removed: readonly Removed[]
  /** Paths of missing required fields, and of other problems that removing values does not solve. */
  unsolved: readonly string[]
}

/** Removes the smallest values that break the schema, and then those that break the rules. */
export const validPartOf = async (
  validate: Validate,
  schema: TSchema,
  given: Json,
  rules: (doc: Json) => Problems = () => ({}),
): Promise<ValidPart> => {
  // Nearly all documents are valid, and are not copied.
  let removal: ReturnType<typeof createRemoval> | undefined
  const remove = (places: readonly Place[]) => {
    if (places.length === 0) return false
    removal ??= createRemoval(given)
    return removal.remove(places)
  }
  for (let round = 0; ; round += 1) {
    const rest = removal?.rest ?? given
    const { value, sound, problems, places = () => [] } = await validate(schema, rest)
    if (!hasProblems(problems)) {
      const doc = isObject(value) ? value : rest
      const broken = Object.keys(rules(doc))
      const found = broken.map(placeOf).filter((place) => memberOf(rest, ...place) !== undefined)
      if (remove(found)) continue
      return { doc, removed: removal?.removed ?? [], unsolved: broken }
    }
    const found = round < maxSingleRounds ? places() : places().map((place) => place.slice(0, 1))
    if (!remove(found))
      return { doc: { ...sound }, removed: removal?.removed ?? [], unsolved: Object.keys(problems) }
  }
}
