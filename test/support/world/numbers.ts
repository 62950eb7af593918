// What tests of phone numbers need over and over.
import type { Json } from '../../../src/lib/json.ts'
import type { TestAccount, World } from './world.ts'

export const pathOf = (account: TestAccount, number: string) =>
  `${account.path}/phone_numbers/${encodeURIComponent(number)}`

/** Numbers that no other test of the suite has: +1 415 555 0000 and up. */
export const createNumberSource = (head = '+1415555') => {
  let taken = 0
  return () => {
    taken += 1
    return `${head}${String(taken).padStart(4, '0')}`
  }
}

/** Lets the reseller, or the account that is named, add and change numbers. */
export const allowAdditions = async ({ operator, reseller }: World, account = reseller) => {
  await operator.patch(account.path, { wnm_allow_additions: true })
}

/** A number in a state, of an account, whatever the caller may do: the operator makes it. */
export const makeNumber = async (
  { operator }: World,
  account: TestAccount,
  number: string,
  fields: Json = {},
) => {
  const answer = await operator.put(pathOf(account, number), fields)
  if (answer.status !== 201) throw new Error(`${number} could not be made: ${answer.text}`)
  return pathOf(account, number)
}
