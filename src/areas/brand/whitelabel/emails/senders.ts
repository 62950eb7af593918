import { accountKind } from '../../../../auth/identity.ts'
import type { Senders, Signing } from '../../../../mail/senders.ts'
import type { DepsOf } from '../../../area.ts'
import type { Whitelabels } from '../operations.ts'
import { domainOf, nearest } from '../rules.ts'
import { type DkimKey, dkimRecord } from './dkim-key.ts'
import type { SenderEmails } from './operations.ts'
import type { SenderRecord } from './store.ts'

export interface SenderAddress {
  id: string
  email: string
  verified: boolean
  /** Absent without a selector or a key. */
  dkim?: Pick<DkimKey, 'type' | 'publicKey'> & {
    selector: string
    record: string
    /** Absent without a whitelabel domain. */
    domain?: string
  }
}

interface Deps extends DepsOf<'store'> {
  whitelabels: Whitelabels
  emails: SenderEmails
}

const canSign = ({ doc, hidden }: SenderRecord) => Boolean(doc.dkim_selector && hidden.key)

/** The first that can sign, else the first verified one. */
const chosen = (records: readonly SenderRecord[]) => {
  const verified = records.filter(({ hidden }) => hidden.isVerified)
  return verified.find(canSign) ?? verified[0]
}

export const createBrandSenders = ({ store, whitelabels, emails }: Deps) => {
  const nearestOf = async <T>(accountId: string, find: (id: string) => Promise<T | undefined>) => {
    const account = await store.records.find(accountId, accountKind, accountId)
    return account && nearest(account, find)
  }

  const verified = (accountId: string, address: string) =>
    nearestOf(accountId, async (id) => {
      const record = await emails.byAddress(id, address)
      return record?.hidden.isVerified ? record : undefined
    })

  const domainAt = async (accountId: string) => {
    const record = await whitelabels.find(accountId)
    return record && domainOf(record.doc)
  }

  const senders: Senders = {
    senderOf: (accountId) =>
      nearestOf(accountId, async (id) => {
        const record = chosen(await emails.all(id))
        if (!record) return undefined
        const name = (await whitelabels.find(id))?.doc.company_name
        return { address: record.doc.email, ...(name ? { name } : {}) }
      }),

    maySendAs: async (accountId, address) => (await verified(accountId, address)) !== undefined,

    async signingFor(accountId, address): Promise<Signing | undefined> {
      const record = await verified(accountId, address)
      const domain = record && (await domainAt(record.accountId))
      const selector = record?.doc.dkim_selector
      const privateKey = record && emails.privateKeyOf(record)
      return domain && selector && privateKey ? { domain, selector, privateKey } : undefined
    },
  }

  return {
    ...senders,

    async addressesOf(accountId: string): Promise<SenderAddress[]> {
      const domain = await domainAt(accountId)
      return (await emails.all(accountId)).map(({ id, doc, hidden }) => {
        const { email, dkim_selector: selector } = doc
        const shown = { id, email, verified: hidden.isVerified }
        if (!selector || !hidden.key) return shown
        const { type, publicKey } = hidden.key
        const key = { type, publicKey, selector, record: dkimRecord(hidden.key) }
        return { ...shown, dkim: { ...key, ...(domain ? { domain } : {}) } }
      })
    },
  }
}
