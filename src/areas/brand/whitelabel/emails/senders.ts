import { accountKind } from '../../../../auth/identity.ts'
import type { Senders, Signing } from '../../../../mail/senders.ts'
import type { DepsOf } from '../../../area.ts'
import type { Whitelabels } from '../operations.ts'
import { domainOf } from '../rules.ts'
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

export const createBrandSenders = ({ store, whitelabels, emails }: Deps) => {
  /** The account and its parents, the nearest first. */
  const chainOf = async (accountId: string): Promise<string[]> => {
    const account = await store.records.find(accountId, accountKind, accountId)
    return account ? [accountId, ...account.hidden.tree.toReversed()] : []
  }

  const domainAt = async (accountId: string) => {
    const record = await whitelabels.find(accountId)
    return record && domainOf(record.doc)
  }

  const verifiedAt = async (accountId: string, address: string) => {
    const record = await emails.byAddress(accountId, address)
    return record?.hidden.isVerified ? record : undefined
  }

  const nearest = async (accountId: string, address: string): Promise<SenderRecord | undefined> => {
    for (const id of await chainOf(accountId)) {
      const record = await verifiedAt(id, address)
      if (record) return record
    }
    return undefined
  }

  const canSign = ({ doc, hidden }: SenderRecord) => Boolean(doc.dkim_selector && hidden.key)

  /** The first that can sign, else the first verified one. */
  const chosen = (records: readonly SenderRecord[]) => {
    const verified = records.filter(({ hidden }) => hidden.isVerified)
    return verified.find(canSign) ?? verified[0]
  }

  const senders: Senders = {
    async senderOf(accountId) {
      for (const id of await chainOf(accountId)) {
        const record = chosen(await emails.all(id))
        if (!record) continue
        const name = (await whitelabels.find(id))?.doc.company_name
        return { address: record.doc.email, ...(name ? { name } : {}) }
      }
      return undefined
    },

    async maySendAs(accountId, address) {
      return (await nearest(accountId, address)) !== undefined
    },

    async signingFor(accountId, address): Promise<Signing | undefined> {
      const record = await nearest(accountId, address)
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
