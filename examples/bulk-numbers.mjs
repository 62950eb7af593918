// A day of a reseller's operator: numbers come in by CSV, some of them with mistakes; what failed is read, put right and
// tried again; numbers go to a customer; and the customer finds and buys one more.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/bulk-numbers.mjs

import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

const base = process.env.CROSSPOINT_URL ?? 'http://127.0.0.1:8000'
const password = process.env.CROSSPOINT_ADMIN_PASSWORD
if (!password) throw new Error('set CROSSPOINT_ADMIN_PASSWORD to the password that the first start has shown')

/** One request. Waits when the server says that it is too much at once. */
const send = async (method, path, { token, type, body } = {}) => {
  const headers = { ...(type ? { 'content-type': type } : {}), ...(token ? { 'x-auth-token': token } : {}) }
  const response = await fetch(`${base}/v2/${path}`, { method, headers, body })
  if (response.status !== 429) return response
  await setTimeout(Number(response.headers.get('retry-after')) * 1000)
  return send(method, path, { token, type, body })
}

/** Answers with the whole envelope, or throws what the server said. */
const call = async (method, path, token, data) => {
  const json = data ? { type: 'application/json', body: JSON.stringify({ data }) } : {}
  return envelopeOf(await send(method, path, { token, ...json }), `${method} ${path}`)
}

const envelopeOf = async (response, what) => {
  const envelope = await response.json()
  if (envelope.status !== 'success') throw new Error(`${what}: ${JSON.stringify(envelope.data)}`)
  return envelope
}

const signIn = async (accountName, username, secret) => {
  const credentials = createHash('md5').update(`${username}:${secret}`).digest('hex')
  return call('PUT', 'user_auth', undefined, { credentials, account_name: accountName })
}

/** Cells of a line of CSV, as this server writes it. */
const cellsOf = (line) =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
  )

const rowsOf = (csv) => {
  const [header, ...lines] = csv.trim().split('\r\n').map(cellsOf)
  return lines.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index]])))
}

/** A task does nothing until it is started. Answers with its record, and with its output as rows. */
const finish = async (path, token) => {
  await call('PATCH', path, token)
  for (;;) {
    const { metadata: task } = await call('GET', path, token)
    if (task.end_timestamp) {
      const output = await send('GET', `${path}/output`, { token })
      return { task, path, rows: rowsOf(await output.text()) }
    }
    await setTimeout(100)
  }
}

const bulk = async (account, action, lines, token) => {
  const path = `accounts/${account}/tasks?category=number_management&action=${action}`
  const response = await send('PUT', path, { token, type: 'text/csv', body: lines.join('\n') })
  const { metadata } = await envelopeOf(response, action)
  return finish(`accounts/${account}/tasks/${metadata.id}`, token)
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

const operator = await signIn(process.env.CROSSPOINT_MASTER_ACCOUNT ?? 'master', 'admin', password)
const master = operator.data.account_id
const token = operator.auth_token
console.log('The operator has signed in.')

const reseller = (await call('PUT', `accounts/${master}`, token, { name: `Ring Resale ${unique}` })).data
await call('PUT', `accounts/${reseller.id}/reseller`, token, {})
// Without this an account takes numbers from the pool only.
await call('PATCH', `accounts/${reseller.id}`, token, { wnm_allow_additions: true })
const bakery = (await call('PUT', `accounts/${reseller.id}`, token, { name: `Bakery ${unique}` })).data
const oldShop = (await call('PUT', `accounts/${reseller.id}`, token, { name: `Old Shop ${unique}` })).data
const people = [
  [reseller.id, 'rita', 'ring-ring-1'],
  [bakery.id, 'bob', 'crusty-bread'],
]
for (const [account, username, secret] of people) {
  const person = {
    first_name: username,
    last_name: 'Example',
    priv_level: 'admin',
    username,
    password: secret,
  }
  await call('PUT', `accounts/${account}/users`, token, person)
}
await call('PUT', `accounts/${oldShop.id}/phone_numbers/${encodeURIComponent(number(4))}`, token, {})

const rita = (await signIn(reseller.name, 'rita', 'ring-ring-1')).auth_token
const nobody = 'f'.repeat(32)
const first = await bulk(
  reseller.id,
  'import',
  [
    'e164,account_id,prepend.enabled,prepend.name',
    `${number(1)},,true,Sales`,
    `${number(2)},,,`,
    // Three kinds of mistakes: no plus, a number that somebody has, an account that there is not.
    `${number(3).slice(1)},,,`,
    `${number(4)},,,`,
    `${number(5)},${nobody},,`,
  ],
  rita,
)
tell(first)

// The old shop gives its number up. A retry is a task of the rows that had failed.
tell(await bulk(oldShop.id, 'release', ['e164', number(4)], rita))
const again = await call('PUT', `${first.path}/retry`, rita)
tell(await finish(`accounts/${reseller.id}/tasks/${again.metadata.id}`, rita))

// The other two were wrong in themselves: here they are put right.
tell(await bulk(reseller.id, 'import', ['e164', number(3), number(5)], rita))

const assigned = [number(1), number(3)]
tell(
  await bulk(
    reseller.id,
    'assign_to',
    ['e164,account_id', ...assigned.map((one) => `${one},${bakery.id}`)],
    rita,
  ),
)

// The operator fills the pool, from which everybody may buy.
const pool = [6, 7, 8].map((index) => `${number(index)},available`)
tell(await bulk(master, 'import', ['e164,state', ...pool], token))

const bob = (await signIn(bakery.name, 'bob', 'crusty-bread')).auth_token
const prefix = number(6).slice(2, 9)
const found = await call('GET', `accounts/${bakery.id}/phone_numbers?prefix=${prefix}&quantity=2`, bob)
console.log(`Bob searches ${prefix} and finds ${found.data.map((one) => one.number).join(' and ')}.`)
const chosen = found.data[0].number
await call('PUT', `accounts/${bakery.id}/phone_numbers/${encodeURIComponent(chosen)}/activate`, bob, {})

const { data } = await call('GET', `accounts/${bakery.id}/phone_numbers`, bob)
const own = Object.keys(data.numbers)
if (own.toSorted().join() !== [...assigned, chosen].toSorted().join()) throw new Error(`unexpected: ${own}`)
console.log(`Bob has bought ${chosen}. The bakery has ${own.length} numbers.`)
