import type { AccountRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'

/** An account begins, or its document or what is kept apart changes. Moves in the tree are none. */
export const accountChanged = signal<{ before: AccountRecord | undefined; after: AccountRecord }>(
  'account changed',
)

/** An account gets another parent. `before` has its old ancestors. */
export const accountMoved = signal<{ before: AccountRecord; after: AccountRecord }>('account moved')

export const accountDeleted = signal<AccountRecord>('account leaving')
