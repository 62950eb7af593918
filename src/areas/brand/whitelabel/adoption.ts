import type { Json } from '../../../lib/json.ts'
import { holderOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import { SenderEmail } from './emails/schema.ts'
import { createSenderStore, type SenderHidden } from './emails/store.ts'
import type { BrandFiles } from './files/operations.ts'
import { brandCount } from './operations.ts'
import { hostsOf } from './rules.ts'
import { Whitelabel } from './schema.ts'
import { createWhitelabelStore, type WhitelabelHidden, whitelabelId } from './store.ts'

/** Imports brands with their files. */
export const createBrandImporter = (store: Store, files: BrandFiles): Importer => {
  const whitelabels = createWhitelabelStore(store)
  const adopting = importingInto<Whitelabel, WhitelabelHidden>(whitelabels, ({ doc }) => ({
    doc,
    // The operator has served this brand before.
    hidden: { confirmedHosts: hostsOf(doc) },
  }))
  return {
    ...adopting,
    schema: Whitelabel,
    fileProblem: files.problemOf,
    files: ({ accountId }) => files.all(accountId),

    async put(set, arrival) {
      const { accountId } = arrival
      const isKnown = (await whitelabels.find(accountId, whitelabelId)) !== undefined
      if (!(await adopting.put(set, arrival))) return false
      await files.putAll(set, arrival)
      if (!isKnown) set.count(accountId, ...brandCount, 1)
      return true
    },

    async remove(set, { accountId }) {
      const record = await whitelabels.find(accountId, whitelabelId)
      if (!record) return false
      whitelabels.remove(set, record)
      await files.removeWith(set, holderOf(record))
      set.count(accountId, ...brandCount, -1)
      return true
    },
  }
}

/** Imported sender addresses must be verified here. */
export const createSenderImporter = (store: Store): Importer => ({
  schema: SenderEmail,
  ...importingInto<SenderEmail, SenderHidden>(createSenderStore(store), ({ doc }, before) => ({
    doc: doc as SenderEmail & Json,
    hidden: before && before.doc.email === doc.email ? before.hidden : { isVerified: false },
  })),
})
