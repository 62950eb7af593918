// A number as clients are shown it.

import type { Json } from '../../../lib/json.ts'
import { carrierNameOf } from './carriers/carrier.ts'
import type { NumberFeatures } from './features/operations.ts'
import type { NumberRecord } from './store.ts'

/** The values beside the public fields. */
export const readOnlyOf = ({ state, usedBy, hidden }: NumberRecord): Json => {
  const features = Object.keys(hidden.features).sort()
  return {
    state,
    ...(usedBy ? { used_by: usedBy } : {}),
    ...(features.length > 0 ? { features } : {}),
  }
}

interface NumberMetadata extends Json {
  id: string
  created: number
  modified: number
  carrier_module: string
  features: { available: readonly string[]; settings: Json }
  /** Its carrier has not confirmed the order yet. */
  pending?: true
}

export const metadataOf = async (
  features: NumberFeatures,
  number: NumberRecord,
  isOperator: boolean,
): Promise<NumberMetadata> => {
  const { id, created, modified, carrier, accountId, state, usedBy, hidden } = number
  const available = await features.available({ accountId, state, usedBy, carrier, ...hidden }, isOperator)
  const settings = features.settingsOf(hidden.features)
  const shown = {
    id,
    created,
    modified,
    carrier_module: carrierNameOf(carrier),
    features: { available, settings },
  }
  return hidden.pendingOrder === undefined ? shown : { ...shown, pending: true }
}

/** One item of a collection's answer. */
export const itemOf = (number: NumberRecord, metadata: Json): Json => ({
  id: number.id,
  ...readOnlyOf(number),
  ...number.doc,
  _read_only: metadata,
})
