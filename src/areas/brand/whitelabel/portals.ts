import type { AccountRecord } from '../../../auth/identity.ts'
import { hostNameOf } from '../../../lib/host-name.ts'
import type { WhitelabelDomainChecks } from './domains/operations.ts'
import type { Whitelabels } from './operations.ts'

interface Deps {
  whitelabels: Pick<Whitelabels, 'find'>
  domains: Pick<WhitelabelDomainChecks, 'isSetUp' | 'portalsOf'>
}

/** Where the users of an account sign in: at the nearest brand whose DNS is set up, its own first. */
export const createPortals =
  ({ whitelabels, domains }: Deps) =>
  async ({ id, hidden }: AccountRecord): Promise<string | undefined> => {
    for (const accountId of [id, ...hidden.tree.toReversed()]) {
      const domain = hostNameOf((await whitelabels.find(accountId))?.doc.domain ?? '')
      for (const host of domain === undefined ? [] : await domains.portalsOf(domain))
        if (domain !== undefined && (await domains.isSetUp(domain, host))) return host
    }
    return undefined
  }
