import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { badIdentifier, isFailure } from '../../../lib/failure.ts'
import type { Store } from '../../../storage/store.ts'
import type { BrandFiles } from './files/operations.ts'
import type { Whitelabels } from './operations.ts'

interface Deps {
  store: Store
  whitelabels: Pick<Whitelabels, 'find'>
  files: Pick<BrandFiles, 'get'>
}

const printable = new Set(['image/png', 'image/jpeg'])

/** What stands on paper for an account: the name and the picture of the nearest brand, its own first. */
export const createBrands = ({ store, whitelabels, files }: Deps) => {
  const logoOf = async (accountId: string) => {
    try {
      const { contentType, bytes } = await files.get(accountId, 'logo')
      return printable.has(contentType) ? bytes : undefined
    } catch (error) {
      if (isFailure(error, badIdentifier)) return undefined
      throw error
    }
  }

  return async (accountId: string): Promise<{ name?: string; logo?: Uint8Array }> => {
    const account = (await store.records.find(accountId, accountKind, accountId)) as AccountRecord | undefined
    for (const id of account ? [accountId, ...account.hidden.tree.toReversed()] : []) {
      const brand = await whitelabels.find(id)
      if (!brand) continue
      const { company_name: name } = brand.doc
      const logo = await logoOf(id)
      return { ...(name ? { name } : {}), ...(logo ? { logo } : {}) }
    }
    return {}
  }
}
