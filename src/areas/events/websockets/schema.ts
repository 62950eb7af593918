import { anyObject, anyText, closed, gregorian, list, must, open } from '../../../lib/schema.ts'

export const Bindings = closed(
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
    account_id: must(anyText({ description: 'Whose tokens were sent over it' })),
    bindings: must(list(anyText({ description: 'What those tokens are subscribed to' }))),
    timestamp: must(gregorian('When it was opened')),
    source: must(anyText({ description: 'The address of the client' })),
    destination: must(anyText({ description: 'The node that it is open to' })),
    name: anyText({ description: 'What the client calls it' }),
    metadata: anyObject({ description: 'What the client has said of it' }),
  },
  { title: 'OpenWebSocket' },
)
