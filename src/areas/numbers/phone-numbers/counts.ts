// What of an account's numbers its services are priced by.
import type { ChangeSet } from '../../../storage/change-set.ts'
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

interface Owned {
  accountId: string
  count: Count
}

const ownedCounts = (number: NumberRecord | undefined): Owned[] =>
  number?.accountId ? countsOf(number).map((count) => ({ accountId: number.accountId, count })) : []

/** Moves the counts of the owners before and after. What stays as it is moves nothing. */
export const addCounts = (
  set: ChangeSet,
  before: NumberRecord | undefined,
  after: NumberRecord | undefined,
) => {
  const [gone, come] = [ownedCounts(before), ownedCounts(after)]
  const isIn = (owned: readonly Owned[], { accountId, count: [category, item] }: Owned) =>
    owned.some((one) => one.accountId === accountId && one.count[0] === category && one.count[1] === item)
  for (const one of gone) if (!isIn(come, one)) set.count(one.accountId, ...one.count, -1)
  for (const one of come) if (!isIn(gone, one)) set.count(one.accountId, ...one.count, 1)
}
