import { type Asked, isFromAllowedNetwork, isInScope, letsPass } from '../../auth/api-keys.ts'
import type { Credential } from '../../auth/authenticate.ts'
import type { AccountRecord, Actor } from '../../auth/identity.ts'
import { isThroughAllowedProxy, type Policy, proxyRefusal } from '../../auth/policies.ts'
import { failure, forbidden, invalidCredentials } from '../../lib/failure.ts'
import type { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import type { ServerContext } from '../exchange.ts'

// Who is let in, and to what: asked for requests, and for what comes over connections that have left HTTP.

/** Where somebody asks from. */
interface Visit {
  frame: ServerContext
  crossbar: SettingsOf<typeof crossbarSettings>
  clientAddress: string
  peerAddress: string
}

/** What an actor asks for. */
interface Question {
  actor: Actor
  account: AccountRecord | undefined
  /** The variables of the path. */
  path: Readonly<Record<string, string>>
  allow: Policy
  access: Asked['access']
  rule: Asked['rule']
  method: string
  /** The word that restrictions and scopes know it by, and what stands behind that. */
  endpoint: string
  endpointArguments: readonly string[]
}

/** The reason is for the log alone. */
export const badCredential = (reason: string) => failure(invalidCredentials, {}, reason)

export const accessDenied = (cause: string) => failure(forbidden, { cause }, cause)

/** The actor behind a credential that is good here, or the failure. */
export const admit = async (visit: Visit, credential: Credential): Promise<Actor> => {
  const { frame, crossbar, clientAddress, peerAddress } = visit
  const pledge = () => frame.throttle.pledgeSignIn(clientAddress, crossbar)
  const actor = await frame.authenticate(credential, { clientAddress, pledge })
  for (const one of [actor, ...(actor.impersonators ?? [])]) {
    if (one.key && !isFromAllowedNetwork(one.key, clientAddress))
      throw badCredential('the API key is not for this network')
    if (!isThroughAllowedProxy(one, peerAddress)) throw accessDenied(proxyRefusal)
  }
  return actor
}

const assertInScope = ({ actor, endpoint, access, rule }: Question) => {
  const { key, scopes, hasReplacedKey } = actor
  if (hasReplacedKey && (rule === 'unlimited' || rule === 'none'))
    throw accessDenied('the API key that opened this session was replaced')
  const asked = { area: endpoint, access, rule }
  if (key && !isInScope(key, asked)) throw accessDenied('access denied by the scope of the API key')
  if (scopes && !letsPass(scopes, asked)) throw accessDenied('access denied by the scope of the token')
}

/** Holds what is asked for against scopes, restrictions and the policy of the route. */
export const assertAllowed = async (frame: ServerContext, question: Question) => {
  const { actor, account, path, allow } = question
  assertInScope(question)
  if (!(await frame.isUnrestricted(question))) throw accessDenied('access denied by token restrictions')
  if (!(await allow.allows(actor, account, path, frame.resellerOf)))
    throw accessDenied(`may be called by: ${allow.name}`)
}
