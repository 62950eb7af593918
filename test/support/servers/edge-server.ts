// A fake edge with JSON-RPC: a real server that can be slow, closed, or send invalid responses.
import { type Answering, answerWith, fallSilent, hangUp, startHookReceiver } from './hook-receiver.ts'

/** Its answer to a method: a result, or an error with a code. */
type Method = (...params: unknown[]) => unknown

export class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const said = (id: unknown, method: Method | undefined, params: readonly unknown[]) => {
  try {
    if (!method) throw new RpcError(500, 'Method Not Found')
    return { status: 200, body: { jsonrpc: '2.0', id, result: method(...params) } }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { code, message } = error
    return { status: code, body: { jsonrpc: '2.0', id, error: { code, message } } }
  }
}

export type EdgeServer = Awaited<ReturnType<typeof startEdgeServer>>

export const startEdgeServer = async (methods: Record<string, Method> = {}) => {
  const receiver = await startHookReceiver()
  const known: Record<string, Method> = {
    'core.version': () => 'an edge',
    'htable.seti': () => 'Ok.',
    'ul.lookup': () => {
      throw new RpcError(500, 'AOR not found in location table')
    },
    'ul.rm': () => ({}),
    ...methods,
  }
  const speak: Answering = ({ json }, response) => {
    const { status, body } = said(json.id, known[json.method], json.params)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  receiver.answers(speak)

  return {
    url: `${receiver.url}/RPC`,
    host: `127.0.0.1:${receiver.port}`,
    calls: receiver.calls,
    /** The parameters of calls to a method. */
    told: (method: string): unknown[][] =>
      receiver.calls.filter(({ json }) => json?.method === method).map(({ json }) => json.params),
    /** Sets its answer to a method. */
    says(method: string, how: Method) {
      known[method] = how
    },
    speak: () => receiver.answers(speak),
    fallSilent: () => receiver.answers(fallSilent),
    hangUp: () => receiver.answers(hangUp),
    /** Something that is no JSON-RPC. */
    talkNonsense: (status = 200, body = '<html>nginx</html>') => receiver.answers(answerWith(status, body)),
    close: receiver.close,
  }
}
