import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { createCrosspoint, type Proof, Unreachable } from '../client/src/core.ts'
import { askFor, askHidden } from './ask.ts'
import { clientOptions } from './connection.ts'
import { openProfile, type Profile } from './profiles.ts'
import { textIn } from './rows.ts'
import { profileOption, type RunRemote } from './running.ts'
import { completeSignIn } from './second-factor.ts'
import { Mistake, printable, type Terminal } from './terminal.ts'

interface Login {
  profile: string
  username?: string
  account?: string
  realm?: string
  passwordStdin?: boolean
  /** True: prompt, or read standard input. */
  apiKey?: string | true
  code?: string
}

const usualServer = 'http://127.0.0.1:8000'

const serverIn = (given: string) => {
  const protocol = /^(localhost|127\.|\[::1\])/i.test(given) ? 'http' : 'https'
  const address = /^https?:\/\//i.test(given) ? given : `${protocol}://${given}`
  // With /v2, as in the examples of the API.
  if (URL.canParse(address)) return new URL(address).href.replace(/(?:\/v2)?\/*$/, '')
  throw new Mistake(`${JSON.stringify(given)} is not the address of a server`)
}

const serverFor = async (terminal: Terminal, given: string | undefined, known: Profile | undefined) => {
  const usual = known?.server ?? usualServer
  if (given !== undefined) return serverIn(given)
  if (!terminal.isAttended) return usual
  return serverIn(await askFor(terminal, { message: 'Server', option: 'SERVER', initialValue: usual }))
}

/** The first line of standard input. */
export const fromStdin = async (what: string) => {
  const secret = (await text(process.stdin)).split('\n')[0]?.replace(/\r$/, '')
  if (secret) return secret
  throw new Mistake(`${what} is missing on standard input`)
}

const namedBy = async (terminal: Terminal, { account, realm }: Login, known: Profile | undefined) => {
  if (realm !== undefined) return { realm }
  if (account !== undefined) return { account }
  const initialValue = known?.named && 'account' in known.named ? known.named.account : undefined
  return { account: await askFor(terminal, { message: 'Account', option: '--account', initialValue }) }
}

type Remembered = Omit<Profile, 'server' | 'session'>

const proofByPassword = async (terminal: Terminal, options: Login, known: Profile | undefined) => {
  const named = await namedBy(terminal, options, known)
  const question = { message: 'User', option: '--username', initialValue: known?.username }
  const username = options.username ?? (await askFor(terminal, question))
  const password = options.passwordStdin
    ? await fromStdin('the password')
    : await askHidden(terminal, { message: 'Password', option: '--password-stdin' })
  const proof: Proof = { username, password, ...named }
  const remembered: Remembered = { named, username }
  return { proof, remembered }
}

const proofByKey = async (terminal: Terminal, given: string | true) => {
  const ask = () =>
    terminal.isAttended
      ? askHidden(terminal, { message: 'API key', option: '--api-key' })
      : fromStdin('the API key')
  const apiKey = given === true ? await ask() : given
  const proof: Proof = { apiKey }
  const remembered: Remembered = { apiKey }
  return { proof, remembered }
}

const login = async (terminal: Terminal, given: string | undefined, options: Login) => {
  const file = openProfile(options.profile)
  const known = file.read()
  const server = await serverFor(terminal, given, known)
  const { proof, remembered } =
    options.apiKey === undefined
      ? await proofByPassword(terminal, options, known)
      : await proofByKey(terminal, options.apiKey)
  const crosspoint = createCrosspoint({ ...clientOptions(terminal), server })
  const { session } = await completeSignIn(terminal, await crosspoint.signIn(proof), options.code)
  file.write({ server, ...remembered, session })
  const who = remembered.username ?? 'an API key'
  const account = textIn(session.login, 'account_name') || session.accountId
  terminal.printError(
    `Signed in at ${server} as ${who} of ${printable(account)} (profile ${options.profile})`,
  )
}

const logout = async (terminal: Terminal, { profile }: { profile: string }) => {
  const file = openProfile(profile)
  const known = file.read()
  if (!known) return terminal.printError(`not signed in (profile ${profile})`)
  const crosspoint = createCrosspoint({ server: known.server, store: file.storeFor(known), patienceMs: 0 })
  try {
    await crosspoint.signOut()
    terminal.printError(`Signed out of ${known.server} (profile ${profile})`)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    terminal.printError(
      'Session deleted on this machine. The server was unreachable; the token there expires on its own schedule.',
    )
  } finally {
    file.remove()
  }
}

export const addLogin = (program: Command, run: RunRemote) => {
  program
    .command('login')
    .argument('[SERVER]', 'address of the server')
    .summary('sign in to a server and store the session')
    .description(
      "Prompts for missing values and stores the session in the user's settings folder, readable only by this user. Values of the last sign-in are the defaults",
    )
    .addOption(profileOption())
    .option('--username <USER>', 'user name')
    .option('--account <NAME>', 'account of the user, by name or ID')
    .option('--realm <REALM>', 'account of the user, by realm')
    .option('--password-stdin', 'read the password from standard input')
    .option('--code <CODE>', 'second factor: a code of the authenticator app, or a recovery code')
    .option(
      '--api-key [KEY]',
      'sign in with an API key; without KEY it is prompted for or read from standard input. The key is stored, so the session can always be renewed',
    )
    .action((server: string | undefined, options: Login) =>
      run((terminal) => login(terminal, server, options)),
    )
  program
    .command('logout')
    .description('end the session here and on the server')
    .addOption(profileOption())
    .action((options) => run((terminal) => logout(terminal, options)))
}
