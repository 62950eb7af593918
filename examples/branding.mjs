// A reseller gets a brand: settings and a logo, DNS records that are red and then green, a sender address that is
// verified and signs its mail, and a visitor of the domain who sees the brand without having signed in.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' \
//   BRAND_DOMAIN=brand.example.com BRAND_SENDER=support@brand.example.com node examples/branding.mjs
//
// It prints the DNS records that have to be set up and waits for them, ten minutes (BRAND_PATIENCE_S=600); then it asks for
// the code that was mailed. Where something does not come it says what, and ends.

import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { setTimeout } from 'node:timers/promises'
import { client, connect, signIn, signInAsOperator } from './crosspoint.mjs'

const { checkWhitelabelDomains, createSubAccount, createUser, createWhitelabel } = client
const { createWhitelabelEmail, getHostWhitelabel, previewNotification, promoteToReseller } = client
const { replaceWhitelabelDomainTemplate, verifyWhitelabelEmail } = client

const domain = process.env.BRAND_DOMAIN ?? 'brand.example.com'
const sender = process.env.BRAND_SENDER ?? `support@${domain}`
const pauseMs = Number(process.env.BRAND_PAUSE_MS ?? 5000)
const patienceMs = Number(process.env.BRAND_PATIENCE_S ?? 600) * 1000

/** What a generated function takes besides the body: who asks, and of which account. */
const as = (who, account_id, more) => ({ client: who.http, path: { account_id, ...more } })

const unique = Date.now().toString(36)
const operator = await signInAsOperator()

// The operator says what every reseller has to set up.
await replaceWhitelabelDomainTemplate({
  client: operator.http,
  body: {
    data: {
      A: { 'sip.{{domain}}': { name: 'SIP proxy', zone: 'home', mapping: ['203.0.113.10'] } },
      CNAME: { 'portal.{{domain}}': { name: 'Web interface', mapping: ['ui.example.net'] } },
      MX: {},
      SRV: { '_sip._udp.{{domain}}': { name: 'SIP service', mapping: ['10 10 5060 sip.{{domain}}'] } },
      TXT: {},
    },
  },
})

const { data: reseller } = await createSubAccount({
  ...as(operator, operator.session().accountId),
  body: { data: { name: `Brand ${unique}` } },
})
await promoteToReseller(as(operator, reseller.id))
const password = 'resell-7-things'
const person = { first_name: 'Rita', last_name: 'Reseller', username: 'rita', priv_level: 'admin', password }
await createUser({ ...as(operator, reseller.id), body: { data: person } })
const rita = await signIn({ account: reseller.name, username: 'rita', password })
const own = as(rita, reseller.id)
console.log(`The reseller ${reseller.name} has signed in.`)

const settings = {
  company_name: 'Brand Telephony',
  domain,
  hide_powered: true,
  nav: { help: `https://${domain}/help` },
}
await createWhitelabel({ ...own, body: { data: settings } })

/** A file, sent as it is. */
const upload = (path, type, body) =>
  rita.request({
    method: 'POST',
    path: `/v2/accounts/${reseller.id}/whitelabel/${path}`,
    headers: { 'content-type': type },
    body,
  })

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
await upload('logo', 'application/x-base64', `data:image/png;base64,${pixel}`)
console.log('Settings and logo are there.')

const { metadata: added } = await createWhitelabelEmail({
  ...own,
  body: { data: { email: sender, dkim_selector: 'crosspoint' } },
})
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
await upload(`emails/${added.id}`, 'application/x-pem-file', pem)

/** What DNS does not hold yet: type, host and the texts that should be there. */
const missing = async () => {
  const { data, metadata } = await checkWhitelabelDomains(own)
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
const verified = await verifyWhitelabelEmail({
  ...as(rita, reseller.id, { email_id: added.id }),
  body: { data: { code: code.trim() } },
})
console.log(`\n${verified.data.email} is verified: ${verified.metadata.verified}`)

const visitor = connect()
const { data: visible } = await getHostWhitelabel({ client: visitor.http, path: { domain } })
const logo = await visitor.open({ path: `/v2/whitelabel/${domain}/logo`, accept: '*/*' })
const seen = Buffer.from(await logo.arrayBuffer())
if (seen.toString('base64') !== pixel) throw new Error('visitors see another logo')
console.log(`A visitor of ${domain} sees ${visible.company_name} and its logo.`)

const recipient = process.env.BRAND_RECIPIENT ?? sender
await previewNotification({
  ...as(rita, reseller.id, { notification_id: 'alert' }),
  body: { data: { to: { email_addresses: [recipient] } } },
})
console.log(`A mail from ${sender}, signed for ${domain}, is on its way to ${recipient}.`)
