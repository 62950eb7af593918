// The activity of the sample users: each function is one part of the history.
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocalities } from '../src/areas/numbers/phone-numbers/localities/operations.ts'
import { dayMs, gregorianOfUnix } from '../src/lib/gregorian.ts'
import { memberOf } from '../src/lib/member.ts'
import { Refusal } from '../src/storage/saved-store.ts'
import { type BuiltCompany, type BuiltReseller, type Demo, numberPath } from './accounts.ts'
import { idIn, type Send } from './api-client.ts'
import { numberOf, numbersInStock, places } from './companies.ts'
import { type Colour, drawPicture } from './picture.ts'

const ofCarrier = 20

/** Numbers for sale, and localities where the store has none. */
export const putStock = async ({ server, operator, masterId, counts }: Demo) => {
  const localities = createLocalities(server.store)
  const rows = Object.values(places).map(({ prefix, country, region, city, lata, latitude, longitude }) => ({
    ...{ prefix, country, region, city, lata, latitude, longitude },
    rateCenter: city.toUpperCase(),
  }))
  if (!(await localities.areThere()))
    await localities.replaceAll(
      { requestId: 'demo', authMethod: 'command' },
      (async function* () {
        yield rows
      })(),
    )
  for (const place of Object.values(places)) {
    const numbers = Array.from({ length: numbersInStock }, (_, index) => numberOf(place, index))
    const request = `PUT accounts/${masterId}/phone_numbers/collection`
    const state = { create_with_state: 'available' }
    // Only numbers of a carrier cost something and have an emergency address.
    await operator(request, { numbers: numbers.slice(0, ofCarrier), ...state, carrier_name: 'bandwidth2' })
    await operator(request, { numbers: numbers.slice(ofCarrier), ...state })
    counts.numbers += numbers.length
  }
}

const rates = [
  [1, 0.012, 'US_CA', 'United States and Canada'],
  [1415, 0.009, 'US_SF', 'San Francisco'],
  [49, 0.019, 'DE', 'Germany'],
  [4915, 0.085, 'DE_MOBILE', 'Germany, mobile'],
  [44, 0.024, 'GB', 'United Kingdom'],
  [33, 0.024, 'FR', 'France'],
  [39, 0.028, 'IT', 'Italy'],
  [81, 0.065, 'JP', 'Japan'],
  [971, 0.19, 'AE', 'United Arab Emirates'],
] as const

export const putRates = async ({ operator }: Demo) => {
  for (const [prefix, rate_cost, rate_name, description] of rates) {
    const rate = { prefix, rate_cost, rate_name, description, internal_rate_cost: rate_cost / 2 }
    await operator('PUT rates', { ...rate, direction: ['outbound'] })
  }
}

interface Brand {
  colour: Colour
  welcome: string
  fields: object
}

const putBrand = async (by: Send, path: string, { colour, welcome, fields }: Brand) => {
  await by(`PUT ${path}/whitelabel`, fields)
  const send = (part: string, type: string, body: string | Uint8Array<ArrayBuffer>) =>
    by(`POST ${path}/whitelabel/${part}`, undefined, { type, body })
  await send('logo', 'image/png', drawPicture(320, 80, colour))
  await send('icon', 'image/png', drawPicture(64, 64, colour))
  await send('welcome', 'text/html', welcome)
}

export const putBrands = async ({ operator, masterId }: Demo, { path, admin }: BuiltReseller) => {
  await putBrand(operator, `accounts/${masterId}`, {
    colour: [38, 84, 160],
    welcome: '<h1>Welcome</h1><p>Sample data of <code>crosspoint demo</code>.</p>',
    fields: { company_name: 'Crosspoint Demo', domain: 'demo.example.com' },
  })
  await putBrand(admin, path, {
    colour: [0, 122, 112],
    welcome: '<h1>Harbor Voice</h1><p>Telephones for the whole coast. Call us at +1 206 555 0100.</p>',
    fields: {
      company_name: 'Harbor Voice',
      domain: 'harborvoice.example.com',
      hide_powered: true,
      nav: { help: 'https://help.harborvoice.example.com/' },
      port: { support_email: 'porting@harborvoice.invalid' },
      twoway_trunks_price: '$ 19.99',
    },
  })
}

/** Access lists, limits on packets and on concurrent calls. */
export const putLimits = async (companies: readonly BuiltCompany[]) => {
  for (const [index, { path, admin, company, seller }] of companies.entries()) {
    if (index % 2 === 0)
      await admin(`POST ${path}/access_lists`, {
        order: 'allow,deny',
        cidrs: [`198.51.100.${index * 8}/29`, '203.0.113.0/26'],
        user_agent: '^(Yealink|Poly|snom|Cisco|Grand)',
      })
    if (index % 3 === 0)
      await admin(`POST ${path}/rate_limits`, {
        account: { per_minute: { registrations: 200, invites: 300, total_packets: 9000 } },
        device: { per_minute: { registrations: 10, invites: 30, total_packets: 600 } },
      })
    if (company.users > 4)
      await seller.admin(`POST ${path}/limits`, { twoway_trunks: Math.ceil(company.users / 3) })
  }
}

/** Bills the month that has begun. */
export const billAll = async ({ server }: Demo, accounts: readonly { id: string }[]) => {
  for (const { id } of accounts) await server.areas.payments.bill(id)
}

export const topUp = (by: Send, path: string, amount: number) => by(`POST ${path}/services/topup`, { amount })

const secondsOfCall = 190
const dollarsOfSecond = 0.0002

/** The calls of a week as one line of the ledger. */
export const chargeWeek = async ({ random }: Demo, week: number, companies: readonly BuiltCompany[]) => {
  for (const { company, path, seller } of companies) {
    const quantity = Math.round(company.calls * secondsOfCall * (8 + random.share() * 6))
    await seller.admin(`PUT ${path}/ledgers/debit`, {
      source: { service: 'per-minute-voip', id: `week ${week}` },
      usage: { type: 'voice', quantity, unit: 'sec' },
      amount: Math.round(quantity * dollarsOfSecond * 100 + 1) / 100,
      description: `Calls of week ${week}`,
    })
  }
}

export const creditOutage = ({ path, seller }: BuiltCompany) =>
  seller.admin(`PUT ${path}/ledgers/credit`, {
    source: { service: 'adjustments', id: 'outage of the lift' },
    usage: { type: 'credit', quantity: 1, unit: 'credit' },
    amount: 25,
    description: 'For the day without a working lift phone',
  })

export const creditNewestInvoice = async ({ path, seller }: BuiltCompany) => {
  const { data } = await seller.admin(`GET ${path}/invoices`)
  const note = { amount: 5, reason: 'Two phones arrived late' }
  if (Array.isArray(data) && data.length > 0)
    await seller.admin(`PUT ${path}/invoices/${memberOf(data[0], 'id')}/credit_notes`, note)
}

/** Ordinary changes of two months, for the audit log. */
export const editRecords = async (companies: readonly BuiltCompany[]) => {
  for (const { path, admin, userIds, calling } of companies) {
    const [, line] = calling.lines
    if (line) await admin(`PATCH ${path}/devices/${line.deviceId}`, { name: `${line.name}, 2nd floor` })
    if (userIds.length > 6) await admin(`PATCH ${path}/users/${userIds.at(-1)}`, { enabled: false })
  }
}

export const watchMoney = async ({ path, admin }: BuiltCompany) => {
  await admin(`PUT ${path}/api_keys`, { name: 'Reports', scopes: ['cdrs:read', 'ledgers:read'] })
  await admin(`PATCH ${path}`, { notifications: { low_balance: { threshold: 50, enabled: true } } })
}

/** Two webhooks that are disabled in the end: their host does not exist. */
export const putWebhooks = async ({ path, admin }: BuiltCompany) => {
  const common = { format: 'json', version: 'v2', http_verb: 'post' }
  const crm = { name: 'CRM', uri: 'https://crm.invalid/people', hook: 'user.*', enabled: false }
  await admin(`PUT ${path}/webhooks`, { ...crm, ...common })
  const board = { name: 'Wallboard', uri: 'https://crm.invalid/tasks', hook: 'task.finished' }
  const hook = `${path}/webhooks/${idIn(await admin(`PUT ${path}/webhooks`, { ...board, ...common }))}`
  await admin(`POST ${hook}/test`, {})
  await admin(`PATCH ${hook}`, { enabled: false })
}

// Beyond the numbers in stock.
const firstPorted = numbersInStock + 10

/** Reserves, ports and releases numbers. */
export const moveNumbers = async ({ counts }: Demo, companies: readonly BuiltCompany[]) => {
  for (const [index, { company, path, seller, calling }] of companies.entries()) {
    const { admin } = seller
    const { place, name } = company
    if (index % 3 === 0)
      await admin(`PUT ${numberPath(path, numberOf(place, numbersInStock - 1 - index))}/reserve`, {})
    if (index % 5 === 1) {
      const porting = { service_provider: 'Old Carrier', billing_name: name }
      await admin(`PUT ${numberPath(path, numberOf(place, firstPorted + index))}/port`, { porting })
      counts.numbers += 1
    }
    const spare = calling.numbers.at(-1)
    if (company.numbers > 3 && spare) await admin(`DELETE ${numberPath(path, spare)}`)
  }
}

export const putAlerts = async (
  { operator, masterId, history }: Demo,
  companies: readonly BuiltCompany[],
) => {
  const put = (to: object, alert: object) =>
    operator(`PUT accounts/${masterId}/alerts`, {
      ...{ ...alert, to: [to] },
      from: [{ type: 'account', value: masterId }],
    })
  await put(
    { type: 'all', value: 'users' },
    {
      title: 'Maintenance on Sunday',
      message: 'From 02:00 to 03:00 UTC calls may be interrupted for a minute.',
      category: 'maintenance',
      expiration_date: gregorianOfUnix((history.end + 6 * dayMs) / 1000),
    },
  )
  const prices = 'From next month on a line costs 2.40 dollars.'
  await put(
    { type: 'resellers', value: 'admins' },
    { title: 'New wholesale prices', message: prices, category: 'prices' },
  )
  const warning = { level: 'warning' }
  await put(
    { type: 'all', value: 'admins' },
    {
      title: 'Carrier fault in Portland',
      message: 'Calls to some numbers fail. The carrier is at it.',
      category: 'fault',
      ...warning,
    },
  )
  for (const { id } of companies.slice(0, 2))
    await put(
      { type: id, value: 'admins' },
      {
        title: 'Please check your emergency address',
        message: 'It was not confirmed for a year.',
        category: 'emergency',
        ...warning,
      },
    )
}

const pollMs = 50
const maxPolls = 600

/** Runs a scheduled job of the server. Another process of the store may be running it: then nothing is done. */
export const runRound = ({ server }: Demo, name: string) =>
  server.scheduler.runNow(name).catch(() => undefined)

/** Creates a task from a CSV, or without one; returns its path. */
const putTask = async (by: Send, path: string, query: Record<string, string>, rows?: readonly string[]) => {
  const csv = rows && { type: 'text/csv', body: rows.join('\n') }
  return `${path}/tasks/${idIn(await by(`PUT ${path}/tasks?${new URLSearchParams(query)}`, undefined, csv))}`
}

const runTask = async (demo: Demo, by: Send, task: string) => {
  await by(`PATCH ${task}`)
  for (let polls = 0; polls < maxPolls; polls += 1) {
    await runRound(demo, 'tasks')
    const { metadata } = await by(`GET ${task}`)
    if (memberOf(metadata, 'end_timestamp') !== undefined) return
    await sleep(pollMs)
  }
  throw new Refusal(`${task} does not end`)
}

const numberImport = { category: 'number_management', action: 'import' }

/** Tasks that have ended, one with mistakes in its rows, and tasks that were not started. */
export const putTasks = async (demo: Demo, companies: readonly BuiltCompany[], seller: BuiltReseller) => {
  const { operator, masterId, history, counts } = demo
  const master = `accounts/${masterId}`
  const first = companies.slice(0, 2)
  const fresh = Array.from({ length: 20 }, (_, index) =>
    numberOf(places.chicago, numbersInStock + 20 + index),
  )
  const taken = first.flatMap(({ calling }) => calling.numbers.slice(0, 1))
  const rows = ['e164', ...fresh, '555-0100', ...taken, 'not a number']
  const file = { ...numberImport, file_name: 'chicago-numbers.csv' }
  await runTask(demo, operator, await putTask(operator, master, file, rows))
  counts.numbers += fresh.length
  const cdrExport = {
    category: 'cdrs',
    action: 'export',
    created_from: String(gregorianOfUnix(history.daysAgo(30) / 1000)),
    created_to: String(gregorianOfUnix(history.now() / 1000)),
  }
  for (const { admin, path } of first) await runTask(demo, admin, await putTask(admin, path, cdrExport))
  const newRates = { category: 'rates', action: 'import', file_name: 'new-rates.csv' }
  const spain = ['prefix,rate_cost,rate_name', '34,0.021,ES', '351,0.026,PT', '353,0.024,IE']
  await putTask(operator, master, newRates, spain)
  const wanted = [30, 31].map((index) => numberOf(places.seattle, numbersInStock + index))
  const seattle = { ...numberImport, file_name: 'seattle.csv' }
  await putTask(seller.admin, seller.path, seattle, ['e164', ...wanted])
}
