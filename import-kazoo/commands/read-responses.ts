import { type AccountRecord, type Actor, accountKind, masterClaim } from '../../src/auth/identity.ts'
import { createRouter, routeOf, segmentsOf } from '../../src/http/request/router.ts'
import { ApiResponse, RawJson } from '../../src/http/response/responses.ts'
import type { Call, Route } from '../../src/http/route.ts'
import { badIdentifier, Failure, failure, isOutage } from '../../src/lib/failure.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Store } from '../../src/storage/store.ts'

const parsed = (value: unknown) => (value instanceof RawJson ? JSON.parse(value.text) : (value ?? {}))

const partsOf = (result: unknown): { data: Json; metadata: Json } =>
  result instanceof ApiResponse
    ? { data: parsed(result.fields.data), metadata: parsed(result.fields.metadata) }
    : { data: parsed(result), metadata: {} }

/** Reads records as the API responds to the operator, through the routes but without a server. */
export const createResponses = (routes: readonly Route[], { records }: Pick<Store, 'records'>) => {
  const router = createRouter(routes)

  const accountOf = (id: string) => records.find(id, accountKind, id) as Promise<AccountRecord | undefined>

  const findOperator = async (): Promise<Actor> => {
    const holder = await records.claimant(masterClaim)
    const account = holder && (await accountOf(holder.id))
    if (!account) throw new Error('The store has no master account')
    const nothing = { user: undefined, claims: undefined, token: undefined }
    return { accountId: account.id, account, method: 'cb_api_auth', ...nothing }
  }
  let operator: Promise<Actor> | undefined

  const callTo = async (path: string, variables: Readonly<Record<string, string>>): Promise<Call> => {
    operator ??= findOperator()
    const actor = await operator
    const account = await accountOf(variables.account_id ?? '')
    if (!account) throw failure(badIdentifier, { cause: variables.account_id })
    return {
      ...{ path: variables, account, actor, visitor: actor, author: { requestId: 'responses' } },
      ...{ data: undefined, sent: undefined, subject: undefined, upload: undefined, stream: undefined },
      query: new URLSearchParams(),
      envelope: {},
      request: {
        ...{ id: 'responses', method: 'GET', path, clientAddress: '', peerAddress: '' },
        header: () => undefined,
        value: () => undefined,
        accepts: 'application/json',
      },
    }
  }

  /** Undefined where the API refuses: there is no such record. */
  return async (path: string): Promise<{ data: Json; metadata: Json } | undefined> => {
    const match = router.find(segmentsOf(path) ?? [])
    const found = match && routeOf(match, 'GET')
    if (!found) throw new Error(`No route reads ${path}`)
    try {
      const call = await callTo(path, found.path)
      call.subject = await found.route.subject?.(call)
      return partsOf(await found.route.run(call))
    } catch (error) {
      if (!(error instanceof Failure) || isOutage(error)) throw error
      return undefined
    }
  }
}
