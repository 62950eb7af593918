import type { ApiKeyRecord } from '../../../auth/api-keys.ts'
import { accountAdmin } from '../../../auth/policies.ts'
import { collectionListing, type Listing } from '../../../http/response/listing.ts'
import { ApiResponse, ListResponse, made, one, removed } from '../../../http/response/responses.ts'
import { del, get, patch, put, type Route } from '../../../http/route.ts'
import type { ListRow } from '../../../storage/records.ts'
import type { ApiKeys } from './operations.ts'
import { ApiKey, ApiKeyRecord as ApiKeyAnswer, ApiKeyRow } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/api_keys'
const oneKey = `${onAccount}/{api_key_id}` as const

interface UsedRow {
  row: ListRow
  lastUsed: number | undefined
}

const lastUsedField = (lastUsed: number | undefined) =>
  lastUsed === undefined ? {} : { last_used: lastUsed }

export const apiKeyRoutes = (keys: ApiKeys): Route[] => {
  const subject = ({ path }: { path: { account_id: string; api_key_id: string } }) =>
    keys.get(path.account_id, path.api_key_id)

  const view = async (key: ApiKeyRecord) => {
    const lastUsed = (await keys.usesOf(key.accountId, [key.id])).get(key.id)
    return one(key, { readOnly: lastUsedField(lastUsed), etag: `${key.revision}-${lastUsed ?? 0}` })
  }

  const listing = (accountId: string): Listing<UsedRow> => {
    const plain = collectionListing(keys, accountId)
    return {
      async page(request) {
        const rows = await plain.page(request)
        const ids = rows.map(({ id }) => id)
        const uses = await keys.usesOf(accountId, ids)
        return rows.map((row) => ({ row, lastUsed: uses.get(row.id) }))
      },
      cursor: ({ row }) => plain.cursor(row),
      row: ({ row, lastUsed }) =>
        JSON.stringify({ ...JSON.parse(plain.row(row)), ...lastUsedField(lastUsed) }),
      record: ({ row, lastUsed }) => ({ ...plain.record(row), ...lastUsedField(lastUsed) }),
    }
  }

  const ofOne = { allow: accountAdmin, subject, answers: ApiKeyAnswer }

  return [
    get(onAccount, {
      summary: 'List the named API keys of an account',
      allow: accountAdmin,
      answers: ApiKeyRow,
      list: true,
      run: ({ path }) => new ListResponse(listing(path.account_id)),
    }),
    put(onAccount, {
      summary: 'Create a named API key; only this response contains it',
      allow: accountAdmin,
      body: ApiKey,
      tellsOnce: true,
      answers: ApiKeyAnswer,
      judge: async ({ data }) => keys.judge(data),
      run: async ({ author, actor, account, data }) => {
        const { key, text } = await keys.create(author, actor, account, data)
        const { fields } = made(key, { readOnly: { key: text } })
        return new ApiResponse({ ...fields, headers: { 'cache-control': 'no-store' } })
      },
    }),
    get(oneKey, {
      summary: 'Read a named API key and its permissions',
      record: { kind: 'api_key' },
      ...ofOne,
      run: ({ subject: key }) => view(key),
    }),
    patch(oneKey, {
      summary: 'Change the permissions of a named API key; its sessions get them immediately',
      ...ofOne,
      body: ApiKey,
      judge: async ({ data, subject: key }) => keys.judge(data, key),
      run: async ({ author, actor, subject: key, data }) =>
        view(await keys.replace(author, actor, key, data)),
    }),
    del(oneKey, {
      summary: 'Revoke a named API key, and end its sessions',
      ...ofOne,
      run: async ({ author, actor, subject: key }) => removed(await keys.remove(author, actor, key)),
    }),
  ]
}
