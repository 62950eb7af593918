// From an empty server to a phone that may register: a reseller, an account below it, a user and a device.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/first-phone.mjs

import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

const base = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'
const password = process.env.CROSSPOINT_ADMIN_PASSWORD
if (!password) throw new Error('set CROSSPOINT_ADMIN_PASSWORD to the password that the first start has shown')

/** One request of the API. Answers with the whole envelope, or throws what the server said. */
const call = async (method, path, data, token) => {
  const response = await fetch(`${base}/v2/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token ? { 'x-auth-token': token } : {}) },
    ...(data ? { body: JSON.stringify({ data }) } : {}),
  })
  if (response.status === 429) {
    // Sign-ins are dear: the third within a few seconds has to wait.
    await setTimeout(Number(response.headers.get('retry-after')) * 1000)
    return call(method, path, data, token)
  }
  const envelope = await response.json()
  if (envelope.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(envelope.data)}`)
  return envelope
}

const digest = (username, secret) =>
  createHash('md5').update(`${username.toLowerCase()}:${secret}`).digest('hex')

const signIn = (accountName, username, secret) =>
  call('PUT', 'user_auth', { credentials: digest(username, secret), account_name: accountName })

const unique = Date.now().toString(36)

const operator = await signIn(process.env.CROSSPOINT_MASTER_ACCOUNT ?? 'master', 'admin', password)
const token = operator.auth_token
console.log('The operator has signed in.')

const reseller = await call(
  'PUT',
  `accounts/${operator.data.account_id}`,
  { name: `Ring Resale ${unique}` },
  token,
)
await call('PUT', `accounts/${reseller.data.id}/reseller`, {}, token)
console.log(`Reseller: ${reseller.data.name}`)

const customerName = `Bakery ${unique}`
const customer = await call(
  'PUT',
  `accounts/${reseller.data.id}`,
  { name: customerName, realm: `bakery-${unique}.example.com`, timezone: 'Europe/Paris' },
  token,
)
const account = `accounts/${customer.data.id}`
console.log(`Account below it: ${customer.data.name}, realm ${customer.data.realm}`)

const user = await call(
  'PUT',
  `${account}/users`,
  {
    first_name: 'Bob',
    last_name: 'Baker',
    username: 'bob',
    password: 'crusty-bread',
    email: 'bob@example.com',
  },
  token,
)
console.log(`User: ${user.data.first_name} ${user.data.last_name}`)

const device = await call(
  'PUT',
  `${account}/devices`,
  {
    name: "Bob's desk phone",
    owner_id: user.data.id,
    mac_address: '00:15:65:AB:CD:EF',
    sip: { username: 'bob-desk', password: 'never-mind-7' },
  },
  token,
)
console.log(`Device: ${device.data.name}, MAC ${device.data.mac_address}`)

await call(
  'POST',
  `${account}/devices/${device.data.id}/access_lists`,
  { order: 'allow,deny', cidrs: ['203.0.113.0/24'], user_agent: '^Yealink' },
  token,
)
await call(
  'POST',
  `${account}/devices/${device.data.id}/rate_limits`,
  {
    per_minute: { registrations: 10, invites: 60, total_packets: 600 },
    per_second: { registrations: 2, invites: 5, total_packets: 20 },
  },
  token,
)

const edge = await call(
  'GET',
  `edge?realm=${customer.data.realm}&username=bob-desk&address=203.0.113.9&user_agent=${encodeURIComponent('Yealink SIP-T46S')}`,
  undefined,
  token,
)
console.log(
  `An edge proxy is told: allowed ${edge.data.allowed}, ${JSON.stringify(edge.data.rate_limits.device)}`,
)

const bob = await signIn(customerName, 'bob', 'crusty-bread')
if (bob.data.owner_id !== user.data.id) throw new Error('somebody else has signed in')
console.log('Bob has signed in, and his phone is ready.')
