import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { type CarrierModule, moduleOf } from '../carriers/carrier.ts'

export interface PoolNumber {
  accountId: string
  carrier: CarrierModule
  number: string
}

type PoolCells = readonly (string | undefined)[]

interface PoolPlaces {
  number: number
  accountId: number
  /** -1: the file has no such column. */
  carrier: number
}

const [numberColumn, accountColumn, carrierColumn] = ['e164', 'account_id', 'carrier_module']
const poolColumns = [numberColumn, accountColumn, carrierColumn]

/** The place of each column; a text is the error. */
export const poolPlacesIn = (header: PoolCells): PoolPlaces | string => {
  const names = header.map((cell) => (cell ?? '').trim().toLowerCase())
  const strange = names.find((name, at) => !poolColumns.includes(name) || names.indexOf(name) !== at)
  if (strange !== undefined) return `the header has an unknown column '${strange}'`
  const number = names.indexOf(numberColumn)
  const accountId = names.indexOf(accountColumn)
  const carrier = names.indexOf(carrierColumn)
  if (number < 0 || accountId < 0) return 'the header has no columns e164 and account_id'
  return { number, accountId, carrier }
}

const isPooled = (module: CarrierModule | undefined) => module === 'knm_managed' || module === 'knm_inum'

/** A text is the error. */
export const poolNumberIn = (cells: PoolCells, places: PoolPlaces): PoolNumber | string => {
  const number = normalizeNumber((cells[places.number] ?? '').trim())
  if (!isE164(number)) return `'${number.slice(0, 40)}' is not a number`
  const accountId = (cells[places.accountId] ?? '').trim()
  if (!/^[0-9a-f]{32}$/.test(accountId)) return `'${accountId.slice(0, 40)}' is not an account ID`
  const name = (cells[places.carrier] ?? '').trim()
  const carrier = moduleOf(name === '' ? 'managed' : name)
  if (!carrier || !isPooled(carrier)) return `carrier '${name.slice(0, 40)}' has no pool`
  return { accountId, carrier, number }
}
