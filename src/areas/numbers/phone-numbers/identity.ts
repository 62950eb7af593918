import { type AccountRecord, isSuperduper, isWithin } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { numberNotFound, numberUnassigned } from './failures.ts'
import { callFeatures } from './features/rules.ts'
import type { NumberCaller, Numbers } from './operations.ts'
import type { NumberState } from './rules.ts'

/** The states in which calls to a number have somebody to go to. */
const serving: ReadonlySet<NumberState> = new Set(['in_service', 'port_in', 'port_out', 'reserved'])

/** Blanks, brackets, dots, slashes and dashes only make a number readable; U+2010 to U+2015 and U+2212 are dashes. */
const withoutFormat = (text: string) => text.replace(/[\s().\-/\u2010-\u2015\u2212]/g, '')

interface Deps {
  numbers: Numbers
  findAccount(id: string): Promise<AccountRecord | undefined>
}

export type NumberIdentity = ReturnType<typeof createNumberIdentity>

/** Whose a number is. */
export const createNumberIdentity = ({ numbers, findAccount }: Deps) => {
  const unassigned = (cause: string, accountId: string, number: string) =>
    failure(numberUnassigned, { data: { cause, account_id: accountId, number } })

  return {
    /**
     * The owner of a number, and what is on of it that its calls depend on: told to the owner and those above. Others
     * do not learn whose it is.
     */
    async identify(by: NumberCaller, text: string) {
      const number = await numbers.reconcile(text)
      const found = await numbers.findAnywhere(number)
      if (!found) throw failure(numberNotFound, { number })
      if (found.accountId === '') throw failure(numberUnassigned, { data: { cause: 'unassigned', number } })
      const owner = await findAccount(found.accountId)
      if (!owner || !(isSuperduper(by) || isWithin(by, owner))) throw failure(numberNotFound, { number })
      if (!serving.has(found.state)) throw unassigned('not_in_service', owner.id, number)
      if (!owner.hidden.enabled) throw unassigned('account_disabled', owner.id, number)
      return { account_id: owner.id, number, ...callFeatures(found.hidden.features) }
    },

    /** The account that signs in with one of its numbers, as a person writes it: `+1 (415) 555-0100`. */
    async accountOf(text: string): Promise<AccountRecord | undefined> {
      const found = await numbers.findAnywhere(await numbers.normalize(withoutFormat(text)))
      return found?.accountId && serving.has(found.state) ? findAccount(found.accountId) : undefined
    },
  }
}
