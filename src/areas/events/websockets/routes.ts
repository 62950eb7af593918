import { accountAdmin, anyone } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import { get, type Route } from '../../../http/route.ts'
import { anyObject, anyText, closed, gregorian, list, must, open } from '../../../lib/schema.ts'
import { type Directory, openJson } from './operations.ts'
import { availableBindings } from './rules.ts'
import type { OpenRow } from './store.ts'

const Bindings = closed(
  {
    call: must(list(anyText())),
    conference: must(list(anyText())),
    fax: must(list(anyText())),
    object: must(list(anyText())),
  },
  { title: 'WebSocketBindings', description: 'A part of a binding may be `*`' },
)

export const OpenWebSocket = open(
  {
    websocket_session_id: must(anyText()),
    account_id: must(anyText({ description: 'Accounts of the tokens that were sent over it' })),
    bindings: must(list(anyText({ description: 'Subscriptions of these tokens' }))),
    timestamp: must(gregorian('Time when it was opened')),
    source: must(anyText({ description: 'The address of the client' })),
    destination: must(anyText({ description: 'Node of the connection' })),
    name: anyText({ description: 'Name that the client chose' }),
    metadata: anyObject({ description: 'Description by the client' }),
  },
  { title: 'OpenWebSocket' },
)

const onAccount = '/v2/accounts/{account_id}/websockets'

export const websocketRoutes = (directory: Directory): Route[] => {
  const listing = (accountId: string): Listing<OpenRow> => ({
    page: ({ after, limit, descending }) => directory.page({ accountId, after, limit, descending }),
    cursor: ({ id }) => [id, id],
    row: (row) => JSON.stringify(openJson(row)),
    record: openJson,
  })

  return [
    get('/v2/websockets', {
      summary: 'List the events that clients can subscribe to over WebSocket',
      allow: anyone,
      answers: Bindings,
      run: () => availableBindings,
    }),
    get(onAccount, {
      summary: 'List the open WebSockets of an account, in all server processes',
      allow: accountAdmin,
      answers: OpenWebSocket,
      list: true,
      run: ({ account }) => new ListResponse(listing(account.id)),
    }),
    get(`${onAccount}/{websocket_id}`, {
      summary: 'Read an open WebSocket of an account',
      allow: accountAdmin,
      answers: OpenWebSocket,
      run: async ({ account, path }) =>
        openJson(await directory.get({ accountId: account.id, id: path.websocket_id })),
    }),
  ]
}
