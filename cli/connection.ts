import { type CrosspointCore, createCrosspoint, type Waiting } from '../client/src/core.ts'
import { askHidden } from './ask.ts'
import { openProfile, type Profile } from './profiles.ts'
import { textIn } from './rows.ts'
import { completeSignIn } from './second-factor.ts'
import { Mistake, NotSignedIn, type Terminal } from './terminal.ts'

/** Total wait for an unreachable or busy server. */
const requestTimeoutMs = 15_000
/** Shorter waits are not reported. */
const minReportedMs = 1000

const reasons: Record<Waiting['why'], string> = {
  unreachable: 'Server unreachable',
  overloaded: 'Server busy (503)',
  throttled: 'Too many requests (429)',
  under_way: 'The same request is still running',
}

export const clientOptions = (terminal: Terminal) => ({
  patienceMs: requestTimeoutMs,
  onWaiting: ({ why, ms }: Waiting) => {
    if (ms >= minReportedMs) terminal.printError(`${reasons[why]}: retrying in ${Math.ceil(ms / 1000)} s`)
  },
})

export interface Connection {
  crosspoint: CrosspointCore
  /** The account that is signed in. */
  accountId: string
}

/** Signs in again with an API key or a prompt. */
const signInAgain = async (terminal: Terminal, crosspoint: CrosspointCore, profile: Profile) => {
  const { apiKey, username, named } = profile
  if (apiKey !== undefined) return void (await crosspoint.signIn({ apiKey }))
  if (!terminal.isAttended || username === undefined || named === undefined) return
  const message = `The session has ended. Password of ${username} at ${profile.server}`
  const password = await askHidden(terminal, { message, option: 'crosspoint login' })
  await completeSignIn(terminal, await crosspoint.signIn({ username, password, ...named }))
}

export const connect = async (terminal: Terminal, name: string): Promise<Connection> => {
  const file = openProfile(name)
  const profile = file.read()
  const login = name === 'default' ? 'crosspoint login' : `crosspoint login --profile ${name}`
  if (!profile) throw new NotSignedIn(`not signed in (profile ${name}): run ${login}`)
  const crosspoint: CrosspointCore = createCrosspoint({
    ...clientOptions(terminal),
    server: profile.server,
    store: file.storeFor(profile),
    onSignedOut: () => signInAgain(terminal, crosspoint, profile),
  })
  if (!profile.session) await signInAgain(terminal, crosspoint, profile)
  const session = crosspoint.session()
  if (!session) throw new NotSignedIn(`the session has ended: run ${login}`)
  return { crosspoint, accountId: session.accountId }
}

const isId = (text: string) => /^[0-9a-f]{32}$/.test(text)

/** An account by id or name, among the signed-in account and its sub-accounts; undefined: the signed-in account. */
export const accountNamed = async ({ crosspoint, accountId }: Connection, named: string | undefined) => {
  if (named === undefined) return accountId
  if (isId(named)) return named
  const path = `/v2/accounts/${accountId}/descendants`
  const { data } = await crosspoint.request({ path, query: { filter_name: named } })
  const own = await crosspoint.request({ path: `/v2/accounts/${accountId}` })
  const rows = [own.data, ...(Array.isArray(data) ? data : [])]
  const [found, ...more] = rows.filter((row) => textIn(row, 'name') === named)
  if (found === undefined) throw new Mistake(`no account is named ${JSON.stringify(named)} here or below`)
  if (more.length > 0)
    throw new Mistake(`more than one account is named ${JSON.stringify(named)}: use the account ID`)
  return textIn(found, 'id')
}
