import type { Cursor, PageRequest, PlainListing, StartKeys } from '../../../http/answer/listing.ts'
import type { Json } from '../../../lib/json.ts'
import type { Numbers } from './operations.ts'
import type { NumberRecord } from './store.ts'

/** A number with the features that it may have now. */
interface ListedNumber {
  record: NumberRecord
  available: readonly string[]
}

const rowJson = ({ record, available }: ListedNumber): Json => ({
  ...JSON.parse(record.rowText),
  features_available: available,
})

/** The public fields, and the facts that filters may ask for. */
const wholeRecord = (item: ListedNumber): Json => {
  const { doc, id, created, modified } = item.record
  return { ...doc, ...rowJson(item), id, created, modified }
}

const digits = /^\+?\d{1,32}$/

// Numbers hold digits only, which sort behind these signs and before the colon.
const justBefore = (number: string) =>
  `${number.slice(0, -1)}${String.fromCharCode(number.charCodeAt(number.length - 1) - 1)}:`
const justBehind = (number: string) => `${number} `

/** A page begins with the number that its start key names. */
const startKeys: StartKeys = {
  read(key, descending): Cursor | undefined {
    // A plus that was not encoded arrives as a space.
    const number = key.replace(/^ /, '+')
    if (!digits.test(number)) return undefined
    return [descending ? justBehind(number) : justBefore(number), '']
  },
  write: ([number]) => number,
}

/** The numbers of an account, by number. */
export const numberListing = (
  { store, features }: Numbers,
  accountId: string,
  { isOperator, cascadeQuantity }: { isOperator: boolean; cascadeQuantity: number },
): PlainListing<ListedNumber> => ({
  async page({ after, limit, descending, long }: PageRequest) {
    const start = after ? { after: after[0] } : {}
    const records = await store.page({ accountId, limit, descending, long, ...start })
    const availableTo = await features.availabilityIn(accountId)
    return records.map((record) => ({
      record,
      available: availableTo({ ...record.hidden, ...pick(record) }, isOperator),
    }))
  },
  cursor: ({ record }) => [record.id, ''],
  row: (item) => JSON.stringify(rowJson(item)),
  record: wholeRecord,
  keyed: {
    open: `{"cascade_quantity":${cascadeQuantity},"numbers":{`,
    close: '}}',
    key: ({ record }) => record.id,
  },
  startKeys,
})

const pick = ({ state, usedBy, carrier }: NumberRecord) => ({ state, usedBy, carrier })
