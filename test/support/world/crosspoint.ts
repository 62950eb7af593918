// The typed client's core, at a server of the tests.
import { type CrosspointCore, type CrosspointOptions, createCrosspoint } from '../../../client/src/core.ts'
import type { Person, World } from './world.ts'

type Options = Omit<CrosspointOptions, 'server'>

export const serverOf = ({ server }: World) => `http://127.0.0.1:${server.port}`

/** A client without a session. */
export const clientOf = (world: World, options: Options = {}): CrosspointCore =>
  createCrosspoint({ server: serverOf(world), ...options })

/** The client of a user with a token. */
export const clientAs = async (
  { token }: Pick<Person, 'token'>,
  server: string,
  options: Options = {},
): Promise<CrosspointCore> => {
  const client = createCrosspoint({ server, ...options })
  await client.signIn({ token })
  return client
}
