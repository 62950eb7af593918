import type { AccountRecord } from '../../../../auth/identity.ts'
import { badIdentifier, failure, invalid, notConfigured } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import type { StoredMeans, Vault } from '../../../../payment/gateway.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Bookkeepers } from '../bookkeepers.ts'
import type { PricingData } from '../books.ts'
import type { Bookkeeper } from '../pricing/plan.ts'
import type { ServicesDoc } from '../rules.ts'
import { type PaymentToken, type PaymentTokens, tokensWith, withDefault, withoutToken } from './rules.ts'

const maxTokens = 20

const customerKey = ({ type, vendor_id }: PaymentToken['bookkeeper']) => `${type}/${vendor_id}`

const tokenIn = (tokens: PaymentTokens, id: string): PaymentToken => {
  const token = Object.hasOwn(tokens, id) ? tokens[id] : undefined
  if (!token) throw failure(badIdentifier, { cause: id })
  return token
}

export type PaymentTokenLookup = ReturnType<typeof createPaymentTokens>

/** The payment methods of accounts. Their secrets go from the browser to the gateway and never come here. */
export const createPaymentTokens = (store: Store, books: PricingData, bookkeepers: Bookkeepers) => {
  const { clock } = store

  const tokensOf = async (accountId: string): Promise<PaymentTokens> =>
    (await books.docOf(accountId)).payment_tokens ?? {}

  const vaultOf = (bookkeeper: PaymentToken['bookkeeper']): Vault => {
    const vault = bookkeepers.gateway({ id: '', ...bookkeeper })?.vault
    if (!vault) throw failure(notConfigured, { message: `${bookkeeper.type} stores no payment methods` })
    return vault
  }

  const placeFor = async (account: AccountRecord): Promise<Bookkeeper> => {
    const bookkeeper = await bookkeepers.of(account)
    vaultOf(bookkeeper)
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway || !(await bookkeepers.isReady(account, gateway, bookkeeper)))
      throw failure(notConfigured, { message: `bookkeeper ${bookkeeper.type} is not set up` })
    return bookkeeper
  }

  const customerAt = async (account: AccountRecord, bookkeeper: Bookkeeper): Promise<string> => {
    const known = (await books.docOf(account.id)).customers?.[customerKey(bookkeeper)]
    const named = { id: account.id, name: account.doc.name }
    return known ?? vaultOf(bookkeeper).customerFor(named, bookkeeper.vendor_id)
  }

  const save = async (
    author: Author,
    account: AccountRecord,
    change: (doc: ServicesDoc) => Partial<ServicesDoc>,
  ): Promise<PaymentTokens> => {
    const before = await books.services.find(account.id)
    const doc = { ...before?.doc, ...change(before?.doc ?? {}) }
    const set = new ChangeSet(author)
    books.services.put(set, account.id, before, doc)
    await store.commit(set)
    return doc.payment_tokens ?? {}
  }

  const get = async (accountId: string, id: string) => tokenIn(await tokensOf(accountId), id)

  return {
    get,

    list: async (accountId: string): Promise<PaymentToken[]> => Object.values(await tokensOf(accountId)),

    async begin(account: AccountRecord) {
      const bookkeeper = await placeFor(account)
      const customer = await customerAt(account, bookkeeper)
      return vaultOf(bookkeeper).begin(customer, bookkeeper.vendor_id)
    },

    /** Stores a payment method of the gateway. A repeat stores the same one. */
    async keep(author: Author, account: AccountRecord, method: string, isDefault: boolean) {
      const bookkeeper = await placeFor(account)
      if (Object.keys(await tokensOf(account.id)).length >= maxTokens) {
        const message = `An account has at most ${maxTokens} payment methods`
        throw invalid({ payment_method: { maxItems: { message, target: maxTokens } } })
      }
      const customer = await customerAt(account, bookkeeper)
      const kept = await vaultOf(bookkeeper).keep({ token: method, customer }, bookkeeper.vendor_id)
      const now = gregorianNow(clock)
      const saved = await save(author, account, (doc) => {
        const tokens = tokensWith(doc.payment_tokens ?? {}, bookkeeper, kept, now)
        return {
          customers: { ...doc.customers, [customerKey(bookkeeper)]: customer },
          payment_tokens: isDefault ? withDefault(tokens, kept.token, now) : tokens,
        }
      })
      return tokenIn(saved, kept.token)
    },

    /** Adds a gateway's update of a payment method to a change set. False if the account does not have it. */
    async refresh(
      set: ChangeSet,
      accountId: string,
      {
        bookkeeper,
        customer,
        means,
      }: { bookkeeper: PaymentToken['bookkeeper']; customer: string; means: StoredMeans },
    ): Promise<boolean> {
      const before = await books.services.find(accountId)
      const { payment_tokens: tokens = {}, customers = {} } = before?.doc ?? {}
      const isKnown = Object.hasOwn(tokens, means.token) && customers[customerKey(bookkeeper)] === customer
      if (!before || !isKnown) return false
      const payment_tokens = tokensWith(tokens, bookkeeper, means, gregorianNow(clock))
      books.services.put(set, accountId, before, { ...before.doc, payment_tokens })
      return true
    },

    /** Makes this the default. */
    async prefer(author: Author, account: AccountRecord, id: string) {
      await get(account.id, id)
      const now = gregorianNow(clock)
      const saved = await save(author, account, ({ payment_tokens = {} }) => ({
        payment_tokens: withDefault(payment_tokens, id, now),
      }))
      return tokenIn(saved, id)
    },

    async remove(author: Author, account: AccountRecord, id: string) {
      const token = await get(account.id, id)
      const { customers } = await books.docOf(account.id)
      const customer = customers?.[customerKey(token.bookkeeper)] ?? ''
      await vaultOf(token.bookkeeper).forget({ token: id, customer }, token.bookkeeper.vendor_id)
      await save(author, account, ({ payment_tokens = {} }) => ({
        payment_tokens: withoutToken(payment_tokens, id, gregorianNow(clock)),
      }))
      return token
    },
  }
}
