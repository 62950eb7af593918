import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { isSuperduper } from '../../../auth/identity.ts'
import { mergePatch } from '../../../lib/json-merge.ts'
import { OperatorLimits } from '../../../lib/limit-shapes.ts'
import { unitsOfDollars } from '../../../lib/money.ts'
import { type AttachmentRecord, createAttachment } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import type { Services } from '../services/operations.ts'
import type { QuantityReader } from '../services/quantities/operations.ts'
import { type CountOf, effectiveLimits, pricedTrunks, trunkMoves, withDefaults } from './rules.ts'
import { type EffectiveLimits, Limits } from './schema.ts'

export type LimitsStored = AttachmentRecord<Limits>
export type OperatorLimitsStored = AttachmentRecord<OperatorLimits>

interface Deps extends DepsOf<'store'> {
  accounts: Pick<Accounts, 'resellerOf'>
  services: Pick<Services, 'rest'>
  quantities: Pick<QuantityReader, 'of'>
}

/** Granted by the reseller; without `resellerId` by the operator. */
export interface AllowedCallerIds {
  numbers: readonly string[]
  resellerId?: string
}

const category = 'limits'

export type LimitsOfAccounts = ReturnType<typeof createLimits>

const overdraftOf = ({ allow_postpay: isAllowed, max_postpay_amount: dollars = 0 }: OperatorLimits) =>
  isAllowed ? unitsOfDollars(dollars) : 0

export const createLimits = ({ store, accounts, services, quantities }: Deps) => {
  const wishes = createAttachment<Limits>(store, 'limits')
  const operatorLimits = createAttachment<OperatorLimits>(store, 'operator_limits')

  const operatorRecord = (account: AccountRecord) => operatorLimits.find(holderOf(account))

  /** The limits of an account's plans, overridden by what its operator set for it. */
  const ofOperator = async (account: AccountRecord): Promise<OperatorLimits> => {
    const own = await operatorRecord(account)
    const { limits: planned } = await services.rest(account)
    return planned && own ? (mergePatch(planned, own.doc) as OperatorLimits) : (own?.doc ?? planned ?? {})
  }

  /** Read only if an operator bundles trunks with users or devices. */
  const countsFor = async (account: AccountRecord, operator: OperatorLimits): Promise<CountOf> => {
    if (!pricedTrunks.some((name) => operator[`bundled_${name}`])) return () => 0
    const { account: own } = await quantities.of(account.id)
    return (type) => Object.values(own[`${type}s`] ?? {}).reduce((sum, count) => sum + count, 0)
  }

  const countTrunks = (set: ChangeSet, accountId: string, before: Limits | undefined, after: Limits) => {
    for (const { item, delta } of trunkMoves(before, after)) set.count(accountId, category, item, delta)
  }

  const arrivingWishes = importingInto(wishes.collection, ({ doc }) => ({ doc, hidden: {} }))

  const wishAdoption: Importer = {
    ...arrivingWishes,
    schema: Limits,
    async put(set, arrival) {
      const before = await wishes.find(arrival)
      const isNew = await arrivingWishes.put(set, arrival)
      if (isNew) countTrunks(set, arrival.accountId, before?.doc, arrival.doc)
      return isNew
    },
    async remove(set, place) {
      countTrunks(set, place.accountId, (await wishes.find(place))?.doc, {})
      return arrivingWishes.remove(set, place)
    },
  }

  return {
    adoptions: {
      limits: wishAdoption,
      operator_limits: {
        schema: OperatorLimits,
        ...importingInto(operatorLimits.collection, ({ doc }) => ({ doc, hidden: {} })),
      },
    },

    of: (account: AccountRecord): Promise<LimitsStored | undefined> => wishes.find(holderOf(account)),
    operatorRecord,
    ofOperator,

    /** Its reseller and the operator may change an account's limits, and itself if it buys from the operator. */
    async mayChange(actor: Actor, account: AccountRecord): Promise<boolean> {
      if (isSuperduper(actor)) return true
      const resellerId = await accounts.resellerOf(account)
      if (resellerId === actor.accountId) return true
      return account.id === actor.accountId && resellerId === account.hidden.tree[0]
    },

    /** Trunks are priced, so a change may need accepted charges. */
    async replace(author: Author, account: AccountRecord, before: LimitsStored | undefined, doc: Limits) {
      const set = new ChangeSet(author)
      const after = wishes.put(set, holderOf(account), before, doc)
      countTrunks(set, account.id, before?.doc, doc)
      await store.commit(set)
      return after
    },

    async replaceOperator(
      author: Author,
      account: AccountRecord,
      before: OperatorLimitsStored | undefined,
      doc: OperatorLimits,
    ): Promise<OperatorLimitsStored> {
      const set = new ChangeSet(author)
      const after = operatorLimits.put(set, holderOf(account), before, doc)
      await store.commit(set)
      return after
    },

    async inForce(account: AccountRecord): Promise<EffectiveLimits> {
      const operator = await ofOperator(account)
      const own = await wishes.find(holderOf(account))
      return effectiveLimits(withDefaults(own?.doc), operator, await countsFor(account, operator))
    },

    /** Foreign numbers and blocks that the account may show, as far as its reseller may show them. */
    async callerIds(account: AccountRecord): Promise<AllowedCallerIds> {
      const { caller_ids: numbers = [] } = await ofOperator(account)
      const resellerId = await accounts.resellerOf(account)
      const isOperators = resellerId === (account.hidden.tree[0] ?? account.id)
      return { numbers, ...(isOperators ? {} : { resellerId }) }
    },

    /** How far, in units, the balance may be overdrawn. */
    overdraft: async (account: AccountRecord): Promise<number> => overdraftOf(await ofOperator(account)),

    /** How far, in units, charges may overdraw a prepaid account; undefined for other accounts. */
    async chargeOverdraft(account: AccountRecord): Promise<number | undefined> {
      const limits = await ofOperator(account)
      return limits.prepaid ? overdraftOf(limits) : undefined
    },

    async *counted(accountId: string) {
      const record = await wishes.find({ accountId, id: accountId })
      yield trunkMoves(undefined, record?.doc ?? {})
        .filter(({ delta }) => delta > 0)
        .map(({ item, delta }) => [category, item, delta] as const)
    },
  }
}
