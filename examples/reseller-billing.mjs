// A reseller sells seats at a price that falls with their number. The customer sees what a change would cost before it
// does, agrees, owes, is told so, pays, and can read why it paid what it paid.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/reseller-billing.mjs

import { setTimeout } from 'node:timers/promises'
import { client, signIn, signInAsOperator } from './crosspoint.mjs'

const { ChargesNeeded, CrosspointError } = client
const { assignServices, createDevice, createServicePlan, createSubAccount, createUser, topUp } = client
const { getLedgerSums, getLedgerTotal, getServiceAuditSummary, getServiceSummary, listAlerts } = client
const { promoteToReseller, quoteServices, updateOperatorLimits } = client

/** What a generated function takes besides the body: who asks, and of which account. */
const as = (who, account_id) => ({ client: who.http, path: { account_id } })

const dollars = (amount) => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(2)}`

// The operator creates a reseller with a customer; each has an admin.
const operator = await signInAsOperator()
const unique = Date.now().toString(36)
const password = 'a-long-secret-1'
const makeAccount = async (above, name, person) => {
  const { data: account } = await createSubAccount({
    ...as(operator, above),
    body: { data: { name: `${name} ${unique}` } },
  })
  const data = { ...person, priv_level: 'admin', password }
  await createUser({ ...as(operator, account.id), body: { data } })
  return account
}
const reseller = await makeAccount(operator.session().accountId, 'Seats Reseller', {
  first_name: 'Rita',
  last_name: 'Reseller',
  username: 'rita',
})
await promoteToReseller(as(operator, reseller.id))
const customer = await makeAccount(reseller.id, 'Customer', {
  first_name: 'Ann',
  last_name: 'Admin',
  username: 'ann',
})
const rita = await signIn({ account: reseller.name, username: 'rita', password })
const ann = await signIn({ account: customer.name, username: 'ann', password })
const [ritas, own] = [as(rita, customer.id), as(ann, customer.id)]

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
const { data: plan } = await createServicePlan({
  ...as(rita, reseller.id),
  body: { data: { name: 'Seats', category: 'Base', plan: { devices: { sip_device: seats } } } },
})

/** Answers with what it would cost where it costs something: then nothing is made yet. */
const addPhone = async (number) => {
  try {
    await createDevice({ ...own, body: { data: { name: `Phone ${number}` } } })
    return undefined
  } catch (error) {
    if (error instanceof ChargesNeeded) return error
    throw error
  }
}
for (const number of [1, 2]) await addPhone(number)

const recurring = ({ invoices }) => invoices.reduce((sum, { summary }) => sum + summary.recurring, 0)
const body = { data: { add: [plan.id] } }
const { data: quote } = await quoteServices({ ...ritas, body })
console.log(`Two phones would cost ${dollars(recurring(quote))} a month.`)
await assignServices({ ...ritas, body })
// Without this Ann would owe what she agrees to.
await updateOperatorLimits({ ...ritas, body: { data: { prepaid: true } } })
const { data: summary } = await getServiceSummary(own)
console.log(`Rita sells the plan: ${dollars(recurring(summary))} a month.`)

// Ann adds phones until it would cost more.
let number = 3
let charges = await addPhone(number)
while (charges === undefined) {
  console.log(`Phone ${number} is there, at no charge.`)
  number += 1
  charges = await addPhone(number)
}
console.log(
  `Phone ${number} would cost ${dollars(charges.today)} today and ${dollars(charges.recurring)} a month.`,
)
const refused = await charges.accept().catch((error) => error)
if (!(refused instanceof CrosspointError && refused.kind === 'not_enough_credit')) throw refused
console.log('Ann agrees, and has not enough: nothing is made, and nothing charged.')

const balance = async () => (await getLedgerTotal(own)).data.amount
const warnings = async () => {
  const { data } = await listAlerts(own)
  return data.filter(({ category }) => category === 'low_balance')
}
const [warning] = await warnings()
console.log(`${warning.title}: ${dollars(warning.metadata.available)}.`)

await topUp({ ...ritas, body: { data: { amount: 25 } } })
const asked = await addPhone(number)
await asked.accept()
console.log(
  `Ann pays Rita, who tops her up, and agrees again: ${dollars(await balance())} are left, ${(await warnings()).length} warnings.`,
)

const { data: ledgers } = await getLedgerSums(own)
for (const [source, { amount }] of Object.entries(ledgers).toSorted())
  console.log(`  ${source}: ${dollars(amount)}`)

/** Changes per day are summed up within seconds. */
const movedToday = async () => {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const { data } = await getServiceAuditSummary(own)
    const [moved] = Object.values(data[0]?.devices ?? {})
    if (moved?.quantity === number) return moved
    await setTimeout(500)
  }
  throw new Error('it has not come about within half a minute')
}
const moved = await movedToday()
console.log(
  `The audit says: ${moved.addition} phones added, ${moved.removal} removed, ${moved.quantity} in all.`,
)
