// A reseller gets a brand: settings and a logo, DNS records that are red and then green, a sender address that is
// verified and signs its mail, and a visitor of the domain who sees the brand without having signed in.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' \
//   BRAND_DOMAIN=brand.example.com BRAND_SENDER=support@brand.example.com node examples/branding.mjs
//
// It prints the DNS records that have to be set up and waits for them, ten minutes (BRAND_PATIENCE_S=600); then it asks for
// the code that was mailed. Where something does not come it says what, and ends.

import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { setTimeout } from 'node:timers/promises'

const base = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'
const password = process.env.CROSSPOINT_ADMIN_PASSWORD
const domain = process.env.BRAND_DOMAIN ?? 'brand.example.com'
const sender = process.env.BRAND_SENDER ?? `support@${domain}`
const pauseMs = Number(process.env.BRAND_PAUSE_MS ?? 5000)
const patienceMs = Number(process.env.BRAND_PATIENCE_S ?? 600) * 1000
if (!password) throw new Error('set CROSSPOINT_ADMIN_PASSWORD to the password that the first start has shown')

/** One request of the API, with a body of any type. Answers with the response, or throws what the server said. */
const send = async (method, path, { token, type = 'application/json', body } = {}) => {
  const response = await fetch(`${base}/v2/${path}`, {
    method,
    headers: { 'content-type': type, ...(token ? { 'x-auth-token': token } : {}) },
    ...(body === undefined ? {} : { body }),
  })
  if (response.status === 429) {
    await setTimeout(Number(response.headers.get('retry-after')) * 1000)
    return send(method, path, { token, type, body })
  }
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response
}

/** One request with a JSON body. Answers with the whole envelope. */
const call = async (method, path, data, token) => {
  const body = data === undefined ? undefined : JSON.stringify({ data })
  return (await send(method, path, { token, body })).json()
}

const digest = (username, secret) =>
  createHash('md5').update(`${username.toLowerCase()}:${secret}`).digest('hex')

const signIn = (accountName, username, secret) =>
  call('PUT', 'user_auth', { credentials: digest(username, secret), account_name: accountName })

const unique = Date.now().toString(36)

const master = await signIn(process.env.CROSSPOINT_MASTER_ACCOUNT ?? 'master', 'admin', password)
const operator = master.auth_token

// The operator says what every reseller has to set up.
await call(
  'POST',
  'whitelabel/domains',
  {
    A: { 'sip.{{domain}}': { name: 'SIP proxy', zone: 'home', mapping: ['203.0.113.10'] } },
    CNAME: { 'portal.{{domain}}': { name: 'Web interface', mapping: ['ui.example.net'] } },
    MX: {},
    SRV: { '_sip._udp.{{domain}}': { name: 'SIP service', mapping: ['10 10 5060 sip.{{domain}}'] } },
    TXT: {},
  },
  operator,
)

const reseller = await call(
  'PUT',
  `accounts/${master.data.account_id}`,
  { name: `Brand ${unique}` },
  operator,
)
const account = `accounts/${reseller.data.id}`
await call('PUT', `${account}/reseller`, {}, operator)
const person = { first_name: 'Rita', last_name: 'Reseller', username: 'rita', priv_level: 'admin' }
await call('PUT', `${account}/users`, { ...person, password: 'resell-7-things' }, operator)
const rita = (await signIn(reseller.data.name, 'rita', 'resell-7-things')).auth_token
console.log(`The reseller ${reseller.data.name} has signed in.`)

const settings = {
  company_name: 'Brand Telephony',
  domain,
  hide_powered: true,
  nav: { help: `https://${domain}/help` },
}
await call('PUT', `${account}/whitelabel`, settings, rita)

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const logo = { token: rita, type: 'application/x-base64', body: `data:image/png;base64,${pixel}` }
await send('POST', `${account}/whitelabel/logo`, logo)
console.log('Settings and logo are there.')

const added = await call(
  'PUT',
  `${account}/whitelabel/emails`,
  { email: sender, dkim_selector: 'crosspoint' },
  rita,
)
const email = `${account}/whitelabel/emails/${added.metadata.id}`
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
await send('POST', email, {
  token: rita,
  type: 'application/x-pem-file',
  body: privateKey.export({ type: 'pkcs8', format: 'pem' }),
})

/** What DNS does not hold yet: type, host and the texts that should be there. */
const missing = async () => {
  const { data, metadata } = await call('POST', `${account}/whitelabel/domains`, undefined, rita)
  const records = Object.entries(data).flatMap(([type, hosts]) =>
    Object.entries(hosts).flatMap(([host, { matches, expected }]) =>
      matches ? [] : expected.map((text) => ({ type, host, text })),
    ),
  )
  const [{ dkim, spf }] = metadata.senders
  if (!dkim.matches) records.push({ type: 'TXT', host: dkim.name, text: dkim.expected })
  if (!spf.valid) records.push({ type: 'TXT', host: spf.name, text: 'v=spf1 mx -all' })
  return records
}

const giveUp = (...lines) => {
  console.error(lines.join('\n'))
  process.exit(1)
}

const linesOf = (records) => records.map(({ type, host, text }) => `  ${host} ${type} ${text}`)

let red = await missing()
console.log([`Domains: ${red.length} records are missing. Set up in DNS:`, ...linesOf(red)].join('\n'))
console.log('Waiting for DNS.')
for (const begun = performance.now(); red.length > 0; red = await missing()) {
  if (performance.now() - begun > patienceMs)
    giveUp('These records are still missing in DNS:', ...linesOf(red))
  await setTimeout(pauseMs)
}
console.log('Domains: everything is there.')

const terminal = createInterface({ input: process.stdin, output: process.stdout })
const noCode = once(terminal, 'close').then(() =>
  giveUp(`\nNobody has typed the code that was mailed to ${sender}.`),
)
const code = await Promise.race([terminal.question(`The code that was mailed to ${sender}: `), noCode])
terminal.removeAllListeners('close')
terminal.close()
const verified = await call('POST', `${email}/verify`, { code: code.trim() }, rita)
console.log(`\n${verified.data.email} is verified: ${verified.metadata.verified}`)

const visitors = await (await send('GET', `whitelabel/${domain}`)).json()
const seen = Buffer.from(await (await send('GET', `whitelabel/${domain}/logo`)).arrayBuffer())
if (seen.toString('base64') !== pixel) throw new Error('visitors see another logo')
console.log(`A visitor of ${domain} sees ${visitors.data.company_name} and its logo.`)

const recipient = process.env.BRAND_RECIPIENT ?? sender
await call('POST', `${account}/notifications/alert/preview`, { to: { email_addresses: [recipient] } }, rita)
console.log(`A mail from ${sender}, signed for ${domain}, is on its way to ${recipient}.`)
