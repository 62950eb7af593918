import {
  CrosspointError,
  getAccount,
  identifyPhoneNumber,
  type SearchResult,
  searchByFields,
} from '@crosspoint/client'
import { api } from './api.ts'

// As many as the API finds by each field.
export const mostOfEach = 50
const fewestDigits = 5

/** What may be a telephone number: digits, and what people write between them. */
const isNumber = (text: string) =>
  /^\+?[\d\s()./-]+$/.test(text) && text.replace(/\D/g, '').length >= fewestDigits

export interface FoundAccount extends SearchResult {
  /** The number that it was found by. */
  number?: string
}

const byNumber = async (accountId: string, text: string, signal: AbortSignal): Promise<FoundAccount[]> => {
  if (!isNumber(text)) return []
  try {
    const path = { account_id: accountId, phone_number: text.replace(/[^\d+]/g, '') }
    const { data } = await identifyPhoneNumber({ ...api, path, signal })
    const owner = await getAccount({ ...api, path: { account_id: data.account_id }, signal })
    const { id, name, realm, descendants_count } = owner.data
    return [{ id, name, realm, descendants_count, number: data.number }]
  } catch (error) {
    // Not a number, an unassigned number, or a number of a foreign account.
    if (error instanceof CrosspointError && [400, 403, 404].includes(error.status)) return []
    throw error
  }
}

/** Accounts below an account by name, realm or a number of theirs. */
export const findAccounts = async (accountId: string, text: string, signal: AbortSignal) => {
  const query = { t: 'account', by_name: text, by_realm: text }
  const path = { account_id: accountId }
  const [owners, { data: byField }] = await Promise.all([
    byNumber(accountId, text, signal),
    searchByFields({ ...api, path, query, signal }),
  ])
  const all = [...owners, ...Object.values(byField).flat()]
  const once = new Map(all.toReversed().map((one) => [one.id, one]))
  return {
    rows: [...once.values()].toReversed(),
    isCut: Object.values(byField).some((rows) => rows.length === mostOfEach),
  }
}
