// What of an account's numbers its services are priced by (reference 03 section 1.5).
import type { ChangeSet } from '../../storage/change-set.ts'
import { localFeature } from './features/rules.ts'
import type { NumberRecord, NumberStore } from './store.ts'

type Count = readonly [category: string, item: string]

/** Everything that a number counts as for its owner. */
const countsOf = ({ carrier, classifier, hidden }: NumberRecord): Count[] => {
  const features = Object.keys(hidden.features)
  const services = features.map((feature): Count => ['number_services', feature])
  const carriers: Count[] = [['number_carriers', carrier]]
  return features.includes(localFeature)
    ? [...carriers, ...services]
    : [['phone_numbers', classifier], ...carriers, ...services]
}

const countedAtOnce = 500

/** What each number of an account counts as, read anew: [category, item] each, in batches. */
export async function* countedNumbers(
  { page }: Pick<NumberStore, 'page'>,
  accountId: string,
): AsyncGenerator<readonly Count[]> {
  let place = {}
  for (;;) {
    const numbers = await page({ accountId, limit: countedAtOnce, descending: false, long: true, ...place })
    const last = numbers.at(-1)
    if (!last) return
    yield numbers.flatMap(countsOf)
    place = { after: last.id }
  }
}

const add = (moves: Map<string, number>, number: NumberRecord | undefined, by: 1 | -1) => {
  if (!number?.accountId) return
  for (const [category, item] of countsOf(number)) {
    const key = JSON.stringify([number.accountId, category, item])
    moves.set(key, (moves.get(key) ?? 0) + by)
  }
}

/** Moves the counts of the owners before and after. */
export const addCounts = (
  set: ChangeSet,
  before: NumberRecord | undefined,
  after: NumberRecord | undefined,
) => {
  const moves = new Map<string, number>()
  add(moves, before, -1)
  add(moves, after, 1)
  for (const [key, delta] of moves) {
    const [accountId, category, item] = JSON.parse(key) as [string, string, string]
    set.count(accountId, category, item, delta)
  }
}
