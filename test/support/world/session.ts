import type { ServerProcess } from '../servers/server-process.ts'
import { Client, createTransport, type Transport } from './client.ts'
import { credentialsOf } from './world.ts'

/** The first admin of a server process, signed in, and the master account's id. */
export interface Session {
  admin: Client
  token: string
  masterId: string
  /** A caller at the same server with another token. */
  as(token: string): Client
  close(): void
}

/** Opens a session at a server, or takes over the token of another process of the same store. */
export const openSession = (server: ServerProcess, known?: Session, password = 'secret'): Promise<Session> =>
  openSessionThrough(createTransport(server.port), known, password)

/** The same through connections that there are. */
export const openSessionThrough = async (
  transport: Transport,
  known?: Session,
  password = 'secret',
): Promise<Session> => {
  const as = (token: string) => new Client(transport.send, { 'x-auth-token': token })
  const close = () => transport.close()
  if (known) return { ...known, admin: as(known.token), as, close }
  const credentials = credentialsOf('admin', password)
  const anyone = new Client(transport.send)
  const answer = await anyone.put('/v2/user_auth', { credentials, account_name: 'master' })
  const token = answer.body.auth_token
  if (!token) throw new Error(`sign-in failed: ${answer.text}`)
  return { admin: as(token), token, masterId: answer.data.account_id, as, close }
}

/** Requests cost nothing from now on. */
export const freeRequests = async ({ admin }: Session) => {
  const free = { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 }
  const answer = await admin.put('/v2/system_configs/crossbar', { default: free })
  if (answer.status !== 201) throw new Error(answer.text)
}
