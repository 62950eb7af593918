// A reseller sells seats at a price that falls with their number. The customer sees what a change would cost before it
// does, agrees, owes, is told so, pays, and can read why it paid what it paid.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/reseller-billing.mjs

import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

const base = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'
const password = process.env.CROSSPOINT_ADMIN_PASSWORD
if (!password) throw new Error('set CROSSPOINT_ADMIN_PASSWORD to the password that the first start has shown')

/** One request of the API. Answers with the whole envelope, whatever it says. */
const ask = async (method, path, token, data, envelope = {}) => {
  const response = await fetch(`${base}/v2/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token ? { 'x-auth-token': token } : {}) },
    ...(data === undefined ? {} : { body: JSON.stringify({ data, ...envelope }) }),
  })
  if (response.status === 429) {
    await setTimeout(Number(response.headers.get('retry-after')) * 1000)
    return ask(method, path, token, data, envelope)
  }
  return response.json()
}

/** The same, for what has to succeed. */
const call = async (...request) => {
  const answer = await ask(...request)
  if (answer.status === 'error') throw new Error(`${request[0]} ${request[1]}: ${JSON.stringify(answer)}`)
  return answer
}

const signIn = async (accountName, username, secret) => {
  const credentials = createHash('md5').update(`${username.toLowerCase()}:${secret}`).digest('hex')
  const answer = await call('PUT', 'user_auth', undefined, { credentials, account_name: accountName })
  return { token: answer.auth_token, account: answer.data.account_id }
}

const dollars = (amount) => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(2)}`

// The operator makes a reseller, and below it a customer: each with somebody to answer for it.
const operator = await signIn(process.env.CROSSPOINT_MASTER_ACCOUNT ?? 'master', 'admin', password)
const unique = Date.now().toString(36)
const makeAccount = async (parent, name, person) => {
  const { data } = await call('PUT', `accounts/${parent}`, operator.token, { name: `${name} ${unique}` })
  const user = { ...person, priv_level: 'admin', password: 'a-long-secret-1' }
  await call('PUT', `accounts/${data.id}/users`, operator.token, user)
  return data
}
const reseller = await makeAccount(operator.account, 'Seats Reseller', {
  first_name: 'Rita',
  last_name: 'Reseller',
  username: 'rita',
})
await call('PUT', `accounts/${reseller.id}/reseller`, operator.token, {})
const customer = await makeAccount(reseller.id, 'Customer', {
  first_name: 'Ann',
  last_name: 'Admin',
  username: 'ann',
})
const rita = (await signIn(reseller.name, 'rita', 'a-long-secret-1')).token
const ann = (await signIn(customer.name, 'ann', 'a-long-secret-1')).token
const account = `accounts/${customer.id}`

// Up to two seats cost 10 dollars each, up to five cost 8, more cost 6. At least three are billed; each of the first
// three is a dollar cheaper; every seat that is billed for the first time costs 5 once.
const seats = {
  name: 'seat',
  rate: 6,
  rates: { 2: 10, 5: 8 },
  minimum: 3,
  activation_charge: 5,
  discounts: { cumulative: { maximum: 3, rate: 1 } },
}
const plan = await call('PUT', `accounts/${reseller.id}/service_plans`, rita, {
  name: 'Seats',
  category: 'Base',
  plan: { devices: { sip_device: seats } },
})

const addPhone = (number, envelope) =>
  ask('PUT', `${account}/devices`, ann, { name: `Phone ${number}` }, envelope)
for (const number of [1, 2]) await addPhone(number)

const recurring = ({ invoices }) => invoices.reduce((sum, { summary }) => sum + summary.recurring, 0)
const quote = await call('POST', `${account}/services/quote`, rita, { add: [plan.data.id] })
console.log(`Two phones would cost ${dollars(recurring(quote.data))} a month.`)
await call('POST', `${account}/services`, rita, { add: [plan.data.id] })
const summary = await call('GET', `${account}/services/summary`, ann)
console.log(`Rita sells the plan: ${dollars(recurring(summary.data))} a month.`)

// Ann adds phones until it would cost more.
let number = 3
let answer = await addPhone(number)
while (answer.status !== 'error') {
  console.log(`Phone ${number} is there, at no charge.`)
  number += 1
  answer = await addPhone(number)
}
if (answer.error !== '402') throw new Error(JSON.stringify(answer))
const [invoice] = answer.data
console.log(
  `Phone ${number} would cost ${dollars(invoice.summary.today)} today and ${dollars(invoice.summary.recurring)} a month.`,
)
const poor = await addPhone(number, { accept_charges: true })
if (poor.message !== 'not_enough_credit') throw new Error(JSON.stringify(poor))
console.log('Ann agrees, and has not enough: nothing is made, and nothing charged.')

const balance = async () => (await call('GET', `${account}/ledgers/total`, ann)).data.amount
const warnings = async () => {
  const { data } = await call('GET', `${account}/alerts`, ann)
  return data.filter(({ category }) => category === 'low_balance')
}
const [warning] = await warnings()
console.log(`${warning.title}: ${dollars(warning.metadata.available)}.`)

await call('POST', `${account}/services/topup`, rita, { amount: 25 })
const agreed = await addPhone(number, { accept_charges: true })
if (agreed.status !== 'success') throw new Error(JSON.stringify(agreed))
console.log(
  `Ann pays Rita, who tops her up, and agrees again: ${dollars(await balance())} are left, ${(await warnings()).length} warnings.`,
)

const ledgers = (await call('GET', `${account}/ledgers`, ann)).data
for (const [source, { amount }] of Object.entries(ledgers).toSorted())
  console.log(`  ${source}: ${dollars(amount)}`)

/** What moved by day is added up within seconds. */
const movedToday = async () => {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const [days] = (await call('GET', `${account}/services/audit/summary`, ann)).data
    const [moved] = Object.values(days?.sip_device ?? {})
    if (moved?.quantity === number) return moved
    await setTimeout(500)
  }
  throw new Error('it has not come about within half a minute')
}
const moved = await movedToday()
console.log(
  `The audit says: ${moved.addition} phones added, ${moved.removal} removed, ${moved.quantity} in all.`,
)
