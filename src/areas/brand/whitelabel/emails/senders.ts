import { accountKind } from '../../../../auth/identity.ts'
import type { Senders, Signing } from '../../../../mail/senders.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Whitelabels } from '../operations.ts'
import { domainOf } from '../rules.ts'
import { type DkimKey, dkimRecord } from './dkim-key.ts'
import type { SenderEmails } from './operations.ts'
import type { SenderRecord } from './store.ts'

/** A sender address as those see it who check what DNS says about it. */
export interface SenderAddress {
  id: string
  email: string
  verified: boolean
  /** Absent without a selector and a key. */
  dkim?: Pick<DkimKey, 'type' | 'publicKey'> & {
    selector: string
    /** The TXT record that receivers have to find. */
    record: string
    /** The whitelabel domain; absent as long as the account has none. */
    domain?: string
  }
}

interface Deps {
  store: Store
  whitelabels: Whitelabels
  emails: SenderEmails
}

/** Whose mail comes from which address, and what it is signed with. */
export const createBrandSenders = ({ store, whitelabels, emails }: Deps) => {
  /** The account, then those above it, the nearest first. */
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

  /** The nearest verified record of an address, along the accounts above. */
  const nearest = async (accountId: string, address: string): Promise<SenderRecord | undefined> => {
    for (const id of await chainOf(accountId)) {
      const record = await verifiedAt(id, address)
      if (record) return record
    }
    return undefined
  }

  const canSign = ({ doc, hidden }: SenderRecord) => Boolean(doc.dkim_selector && hidden.key)

  /** Of several verified addresses one that can be signed, else the one that came first. */
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

    /** The addresses of an account, and what receivers have to find for each. */
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
