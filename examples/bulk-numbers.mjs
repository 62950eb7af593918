// A day of a reseller's operator: numbers come in by CSV, some of them with mistakes; what failed is read, put right and
// tried again; numbers go to a customer; and the customer finds and buys one more.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/bulk-numbers.mjs

import { setTimeout } from 'node:timers/promises'
import { client, signIn, signInAsOperator } from './crosspoint.mjs'

const { activatePhoneNumber, createPhoneNumber, createSubAccount, createUser, getTask } = client
const { listPhoneNumbers, promoteToReseller, retryTask, startTask, updateAccount } = client

/** What a generated function takes besides the body: who asks, and of which account. */
const as = (who, account_id, more) => ({ client: who.http, path: { account_id, ...more } })

/** A task does nothing until it is started. Answers with its record, and with its output as rows. */
const finish = async (who, account, { id }) => {
  const task = as(who, account, { task_id: id })
  await startTask(task)
  for (;;) {
    const { metadata } = await getTask(task)
    if (metadata.end_timestamp) {
      const rows = []
      for await (const row of who.csv(`/v2/accounts/${account}/tasks/${id}/output`)) rows.push(row)
      return { task: metadata, rows }
    }
    await setTimeout(100)
  }
}

const bulk = async (who, account, action, lines) => {
  const { envelope } = await who.request({
    method: 'PUT',
    path: `/v2/accounts/${account}/tasks`,
    query: { category: 'number_management', action },
    headers: { 'content-type': 'text/csv' },
    body: lines.join('\n'),
  })
  return finish(who, account, envelope.metadata)
}

const tell = ({ task, rows }) => {
  const failed = task.failure_count > 0 ? `, ${task.failure_count} failed` : ''
  console.log(`${task.action}: ${task.status}, ${task.success_count} done${failed}`)
  for (const { e164, error } of rows.filter((row) => row.error)) console.log(`  ${e164}: ${error}`)
}

const unique = Date.now().toString(36)
const exchange = 2_000_000 + (Math.floor(Date.now() / 100) % 79_000) * 100
/** Numbers that no run before has used. */
const number = (index) => `+1212${exchange + index}`

const operator = await signInAsOperator()
const master = operator.session().accountId
console.log('The operator has signed in.')

const makeAccount = async (above, name, person) => {
  const { data: account } = await createSubAccount({
    ...as(operator, above),
    body: { data: { name: `${name} ${unique}` } },
  })
  if (person) {
    const data = { first_name: person.username, last_name: 'Example', priv_level: 'admin', ...person }
    await createUser({ ...as(operator, account.id), body: { data } })
  }
  return account
}

const ritaIs = { username: 'rita', password: 'ring-ring-1' }
const bobIs = { username: 'bob', password: 'crusty-bread' }
const reseller = await makeAccount(master, 'Ring Resale', ritaIs)
await promoteToReseller(as(operator, reseller.id))
// Without this an account takes numbers from the pool only.
await updateAccount({ ...as(operator, reseller.id), body: { data: { wnm_allow_additions: true } } })
const bakery = await makeAccount(reseller.id, 'Bakery', bobIs)
const oldShop = await makeAccount(reseller.id, 'Old Shop')
await createPhoneNumber({ ...as(operator, oldShop.id, { phone_number: number(4) }), body: { data: {} } })

const rita = await signIn({ account: reseller.name, ...ritaIs })
const nobody = 'f'.repeat(32)
const first = await bulk(rita, reseller.id, 'import', [
  'e164,account_id,prepend.enabled,prepend.name',
  `${number(1)},,true,Sales`,
  `${number(2)},,,`,
  // Three kinds of mistakes: no plus, a number of another account, an unknown account.
  `${number(3).slice(1)},,,`,
  `${number(4)},,,`,
  `${number(5)},${nobody},,`,
])
tell(first)

// The old shop gives its number up. A retry is a task of the rows that had failed.
tell(await bulk(rita, oldShop.id, 'release', ['e164', number(4)]))
const again = await retryTask(as(rita, reseller.id, { task_id: first.task.id }))
tell(await finish(rita, reseller.id, again.metadata))

// The other two were wrong in themselves: here they are put right.
tell(await bulk(rita, reseller.id, 'import', ['e164', number(3), number(5)]))

const assigned = [number(1), number(3)]
const toBakery = assigned.map((one) => `${one},${bakery.id}`)
tell(await bulk(rita, reseller.id, 'assign_to', ['e164,account_id', ...toBakery]))

// The operator fills the pool, from which all accounts may buy.
const pool = [6, 7, 8].map((index) => `${number(index)},available`)
tell(await bulk(operator, master, 'import', ['e164,state', ...pool]))

const bob = await signIn({ account: bakery.name, ...bobIs })
const prefix = number(6).slice(2, 9)
const { data: found } = await listPhoneNumbers({ ...as(bob, bakery.id), query: { prefix, quantity: 2 } })
console.log(`Bob searches ${prefix} and finds ${found.map((one) => one.number).join(' and ')}.`)
const chosen = found[0].number
await activatePhoneNumber({ ...as(bob, bakery.id, { phone_number: chosen }), body: { data: {} } })

const { data } = await listPhoneNumbers(as(bob, bakery.id))
const own = Object.keys(data.numbers)
if (own.toSorted().join() !== [...assigned, chosen].toSorted().join()) throw new Error(`unexpected: ${own}`)
console.log(`Bob has bought ${chosen}. The bakery has ${own.length} numbers.`)
