import type { Cursor, PageRequest, PlainListing, StartKeys } from '../../../http/response/listing.ts'
import type { Json } from '../../../lib/json.ts'
import { carrierNameOf } from './carriers/carrier.ts'
import type { NumberFeatures } from './features.operations.ts'
import type { Numbers } from './operations.ts'
import { featureSettings } from './rules.ts'
import type { NumberRecord } from './store.ts'

export const readOnlyOf = ({ state, usedBy, hidden }: NumberRecord): Json => {
  const features = Object.keys(hidden.features).sort()
  return {
    state,
    ...(usedBy ? { used_by: usedBy } : {}),
    ...(features.length > 0 ? { features } : {}),
  }
}

export const numberMetadata = async (
  features: NumberFeatures,
  number: NumberRecord,
  isOperator: boolean,
): Promise<Json> => {
  const { id, created, modified, carrier, accountId, state, usedBy, hidden } = number
  const available = await features.available({ accountId, state, usedBy, carrier, ...hidden }, isOperator)
  const settings = featureSettings(hidden.features)
  return {
    id,
    created,
    modified,
    carrier_module: carrierNameOf(carrier),
    features: { available, settings },
    ...(hidden.pendingOrder === undefined ? {} : { pending: true }),
  }
}

export const itemOf = (number: NumberRecord, metadata: Json): Json => ({
  id: number.id,
  ...readOnlyOf(number),
  ...number.doc,
  _read_only: metadata,
})

interface ListedNumber {
  record: NumberRecord
  available: readonly string[]
}

const rowJson = ({ record, available }: ListedNumber): Json => ({
  ...JSON.parse(record.rowText),
  features_available: available,
})

/** The public fields, and the values that filters read. */
const wholeRecord = (item: ListedNumber): Json => {
  const { doc, id, created, modified } = item.record
  return { ...doc, ...rowJson(item), id, created, modified }
}

const startKeyForm = /^\+?\d{1,32}$/

// These characters sort before and after all digits.
const justBefore = (number: string) =>
  `${number.slice(0, -1)}${String.fromCharCode(number.charCodeAt(number.length - 1) - 1)}:`
const justBehind = (number: string) => `${number} `

/** A page begins with the number of its start key. */
const startKeys: StartKeys = {
  read(key, descending): Cursor | undefined {
    // A plus that was not encoded arrives as a space.
    const number = key.replace(/^ /, '+')
    if (!startKeyForm.test(number)) return undefined
    return [descending ? justBehind(number) : justBefore(number), '']
  },
  write: ([number]) => number,
}

export const numberListing = (
  { store, features }: Numbers,
  accountId: string,
  { isOperator, cascadeQuantity }: { isOperator: boolean; cascadeQuantity: number },
): PlainListing<ListedNumber> => ({
  async page({ after, limit, descending, long }: PageRequest) {
    const records = await store.page({ accountId, after: after?.[0], limit, descending, long })
    const availableTo = await features.availabilityIn(accountId)
    return records.map((record) => {
      const { state, usedBy, carrier, hidden } = record
      return { record, available: availableTo({ ...hidden, state, usedBy, carrier }, isOperator) }
    })
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
