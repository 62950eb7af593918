import type { Json } from '../../../src/lib/json.ts'
import { accountDatabase, encodedDatabaseName } from '../../documents/database-names.ts'
import { publicPart } from '../../documents/fields.ts'
import { type LeavingDocument, type OwnRecord, present } from '../document.ts'

/** What is known of a number beside its record. */
export interface NumberState {
  state: string
  carrier: string
  usedBy: string
}

// A number stands in the database of its first five characters.
const shardLength = 5

export const shardOf = (number: string) => `numbers/${number.slice(0, shardLength)}`

/** States that a number passes on its way out: there is nothing to be had of it. */
export const isPassing = ({ state }: Pick<NumberState, 'state'>) =>
  state === 'deleted' || state === 'discovery'

const privateOf = ({ accountId, hidden }: OwnRecord, { state, carrier, usedBy }: NumberState): Json =>
  present({
    pvt_state: state,
    pvt_module_name: carrier,
    pvt_assigned_to: accountId || undefined,
    pvt_used_by: usedBy || undefined,
    pvt_features: hidden.features,
    pvt_features_allowed: hidden.featuresAllowed,
    pvt_features_denied: hidden.featuresDenied,
    pvt_reserve_history: hidden.reserveHistory,
    pvt_previously_assigned_to: hidden.previouslyAssignedTo,
    pvt_carrier_data: hidden.carrierData,
    pvt_ported_in: hidden.portedIn,
    pvt_region: hidden.region,
    pvt_locality: hidden.locality,
  })

/** A number, and the copy that its owner has. */
export const leavingNumber = (record: OwnRecord, state: NumberState): LeavingDocument[] => {
  const { id, accountId, created, modified } = record
  const shard = shardOf(id)
  const own: LeavingDocument = {
    database: shard,
    id,
    type: 'number',
    fields: {
      ...publicPart(record.doc, ['id']),
      pvt_type: 'number',
      pvt_db_name: encodedDatabaseName(shard),
      pvt_created: created,
      pvt_modified: modified,
      pvt_vsn: '1',
      ...privateOf(record, state),
    },
    files: [],
  }
  return accountId === ''
    ? [own]
    : [own, { ...own, database: accountDatabase(accountId), type: 'number (copy)' }]
}

export interface StockRow {
  accountId: string
  carrier: string
  number: string
  /** Who has taken it out of the pool; empty: nobody. */
  takenBy: string
}

const pools: Readonly<Record<string, string>> = { knm_managed: 'numbers/managed', knm_inum: 'numbers/inum' }

/** A number that an account has in stock; of carriers that have no pool there it is nothing. */
export const leavingStock = ({ accountId, carrier, number, takenBy }: StockRow): LeavingDocument[] => {
  const database = pools[carrier]
  if (database === undefined) return []
  const fields = {
    pvt_type: 'number',
    pvt_db_name: encodedDatabaseName(database),
    pvt_module_name: carrier,
    pvt_assigned_to: accountId,
    pvt_state: takenBy === '' ? 'available' : 'in_service',
  }
  return [{ database, id: number, type: 'number (stock)', fields, files: [] }]
}
