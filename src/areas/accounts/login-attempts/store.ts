import type { Json } from '../../../lib/json.ts'
import { timeKey } from '../../../lib/time-key.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Store } from '../../../storage/store.ts'

export type AttemptType = 'user_auth' | 'api_auth' | 'multi_factor' | 'recovery' | 'impersonation'

interface AttemptDoc {
  auth_type: AttemptType
  auth_module: string
  status: 'success' | 'failed'
  message: string
  client_ip: string
  client_headers: Record<string, string>
  crossbar_request_id: string
  timestamp: number
  metadata: Json
}

/** Value of the owner column for second factors, so that an index lists them. */
export const secondFactors = 'multi_factor'

export const createAttemptStore = (store: Store) =>
  createCollection<AttemptDoc, object>(store, {
    kind: 'login_attempt',
    ownerId: (doc) => (doc.auth_type === 'multi_factor' ? secondFactors : ''),
    sortKey: (doc) => timeKey(doc.timestamp),
    row: (doc) => doc,
  })
