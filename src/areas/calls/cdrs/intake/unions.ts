// Interactions of which legs that came later say that they are one: the two calls of an attended transfer.

import type { JobKind } from '../../../../jobs/queue.ts'
import type { JobDraft } from '../../../../storage/errand.ts'
import { changedLegs } from '../listing/stale.ts'
import type { Interaction } from './rules.ts'
import type { createIntakeStore } from './store.ts'

interface Union {
  from: Interaction
  into: Interaction
}

const kindName = 'joined_calls'
// Legs that are being stored at this moment may still get the interaction that goes.
const patienceMs = 10_000

/** To be committed with the leg that knows. Those of one account are carried out in their order. */
export const unionOf = (accountId: string, { from, into }: Union, now: number): JobDraft<Union> => ({
  kind: kindName,
  id: `${accountId}.${from.time}-${from.key}.${into.time}-${into.key}`,
  accountId,
  subject: `interactions/${accountId}`,
  dueAt: now + patienceMs,
  payload: { from, into },
  again: 'keep',
})

/** Gives the legs of one interaction the other, and what was meanwhile remembered of the one. */
export const createUnions = ({
  renaming,
  replacing,
}: Pick<ReturnType<typeof createIntakeStore>, 'renaming' | 'replacing'>): JobKind<Union> => ({
  kind: kindName,
  async conclude({ accountId, payload: { from, into } }) {
    const statements = [renaming(accountId, from, into), ...(await replacing(accountId, from, into))]
    return { state: 'forgotten', statements, stale: [changedLegs(accountId)] }
  },
})
