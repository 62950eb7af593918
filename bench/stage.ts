// What the measures run against: accounts, users, a token, and the price of requests set to nothing.
import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { adminPassword, type RunningServer } from './server.ts'

export const accountCount = 20_000
export const listedAccounts = 200
export const usersOfListed = 60
/** Without it, mails of created users would be sent during measurements. */
export const untold = 'send_email_on_creation=false'
const callers = 16

export interface Stage {
  token: string
  masterId: string
  accountIds: readonly string[]
  /** Accounts that have users. */
  listedIds: readonly string[]
}

interface Envelope {
  data: { id: string; account_id: string }
  auth_token: string
}

const agent = new Agent({ keepAlive: true, maxSockets: callers })

export const call = (port: number, method: string, path: string, token: string, data?: object) =>
  new Promise<Envelope>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(token ? { 'x-auth-token': token } : {}) }
    const outgoing = request({ port, host: '127.0.0.1', method, path, agent, headers }, async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('')
      if (incoming.statusCode === 200 || incoming.statusCode === 201) resolve(JSON.parse(text))
      else reject(new Error(`${method} ${path}: ${incoming.statusCode} ${text}`))
    })
    outgoing.on('error', reject)
    outgoing.end(data ? JSON.stringify({ data }) : undefined)
  })

/** The body of a sign-in of the first admin. */
export const signInData = {
  account_name: 'master',
  credentials: createHash('md5').update(`admin:${adminPassword}`).digest('hex'),
}

export const accountData = (index: number) => ({
  name: `Account number ${index}`,
  realm: `a${index}.bench.example.com`,
  language: 'en-us',
  timezone: 'Europe/Berlin',
  caller_id: { external: { name: `Caller ${index}`, number: '+493012345678' } },
  ringtones: { internal: 'http://127.0.0.1/Bellcore-dr1', external: 'http://127.0.0.1/Bellcore-dr2' },
})

/** About 1.5 KB, as a user is after some months in an office. */
export const userData = (name: string) => ({
  first_name: 'Magdalena',
  last_name: name,
  username: name,
  email: `${name}@bench.example.com`,
  priv_level: 'user',
  timezone: 'Europe/Berlin',
  language: 'en-us',
  caller_id: {
    internal: { name: `Magdalena ${name}`, number: '2041' },
    external: { name: 'Bench Example GmbH', number: '+493012345678' },
    emergency: { name: 'Bench Example GmbH', number: '+493012345678' },
  },
  call_forward: { enabled: false, number: '+4915112345678', require_keypress: true, keep_caller_id: true },
  hotdesk: { enabled: false, require_pin: false, keep_logged_in_elsewhere: false },
  media: { audio: { codecs: ['OPUS', 'G722', 'PCMA', 'PCMU'] }, video: { codecs: ['VP8', 'H264'] } },
  profile: {
    title: 'Head of regional purchasing',
    role: 'Purchasing',
    note: 'Sits in the second building, on the third floor, and is best reached in the morning.',
    addresses: [{ address: 'Invalidenstrasse 117, 10115 Berlin, Germany', types: ['work', 'intl'] }],
  },
  flags: ['building-2', 'floor-3', 'headset', 'imported'],
  vm_to_email_enabled: true,
  department: 'Purchasing',
  cost_center: 'DE-BER-0417-PURCHASING',
})

/** What a form with a name, an address and a number sends. */
export const newUserData = (name: string) => ({
  first_name: 'Magdalena',
  last_name: name,
  username: name,
  email: `${name}@bench.example.com`,
  priv_level: 'user',
  timezone: 'Europe/Berlin',
  caller_id: { internal: { name: `Magdalena ${name}`, number: '2041' } },
})

export const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<void>) => {
  const rest = items.values()
  const caller = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

export const freeOfCharge = { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 }

/** Takes the price from requests of a new store. Answers with a token and the master account. */
export const freeRequests = async ({ port }: RunningServer) => {
  const { auth_token: token, data } = await call(port, 'PUT', '/v2/user_auth', '', signInData)
  await call(port, 'PUT', '/v2/system_configs/crossbar', token, { default: freeOfCharge })
  return { token, masterId: data.account_id }
}

/** Fills a new store through the server's own interface. */
export const setStage = async (server: RunningServer): Promise<Stage> => {
  const { port } = server
  const { token, masterId } = await freeRequests(server)
  const accountIds: string[] = []
  const numbers = Array.from({ length: accountCount }, (_, index) => index)
  await inParallel(numbers, async (index) => {
    const { data } = await call(port, 'PUT', `/v2/accounts/${masterId}?${untold}`, token, accountData(index))
    accountIds.push(data.id)
  })
  const listedIds = accountIds.slice(0, listedAccounts)
  const users = listedIds.flatMap((id) =>
    Array.from({ length: usersOfListed }, (_, index) => [id, `user${index}`] as const),
  )
  await inParallel(users, async ([id, name]) => {
    await call(port, 'PUT', `/v2/accounts/${id}/users?${untold}`, token, userData(name))
  })
  agent.destroy()
  return { token, masterId, accountIds, listedIds }
}

/** A fresh token: those of a former process run out. */
export const signIn = async ({ port }: RunningServer) =>
  (await call(port, 'PUT', '/v2/user_auth', '', signInData)).auth_token
