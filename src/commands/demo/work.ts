import { setTimeout as sleep } from 'node:timers/promises'
import { dayMs, gregorianOfUnix } from '../../lib/gregorian.ts'
import { type Caller, partOf, Refused, textIn } from './desk.ts'
import { numberOf, numbersInStock, places } from './places.ts'
import type { BuiltCompany, BuiltReseller, Stage } from './tree.ts'

const lookAgainMs = 50
const maxLooks = 600

/** A task that is made of a CSV, or of nothing; not started. */
const putTask = async (by: Caller, path: string, query: Record<string, string>, csv?: string) => {
  const sent = csv === undefined ? {} : { type: 'text/csv', body: csv }
  const answer = await by.send('PUT', `${path}/tasks`, { ...sent, query: String(new URLSearchParams(query)) })
  return `${path}/tasks/${textIn(partOf(answer, 'metadata'), 'id')}`
}

const runTask = async (stage: Stage, by: Caller, task: string) => {
  await by.patch(task)
  for (let look = 0; look < maxLooks; look += 1) {
    await stage.work('tasks')
    const { metadata } = await by.send('GET', task, {})
    if (typeof metadata === 'object' && metadata !== null && 'end_timestamp' in metadata) return
    await sleep(lookAgainMs)
  }
  throw new Refused(`${task} does not end`)
}

const numberImport = { category: 'number_management', action: 'import' }

/** Tasks that have ended, one of them with mistakes in its rows, and some that wait for somebody to start them. */
export const putTasks = async (
  stage: Stage,
  companies: readonly BuiltCompany[],
  sellers: readonly BuiltReseller[],
) => {
  const { operator, masterId, past, counts } = stage
  const master = `accounts/${masterId}`
  const fresh = Array.from({ length: 20 }, (_, index) =>
    numberOf(places.chicago, numbersInStock + 20 + index),
  )
  const taken = companies.slice(0, 2).flatMap(({ calling }) => calling.numbers.slice(0, 1))
  const lines = ['e164', ...fresh, '555-0100', ...taken, 'not a number']
  const file = { ...numberImport, file_name: 'chicago-numbers.csv' }
  await runTask(stage, operator, await putTask(operator, master, file, lines.join('\n')))
  counts.numbers += fresh.length
  const range = {
    created_from: String(gregorianOfUnix(past.daysAgo(30) / 1000)),
    created_to: String(gregorianOfUnix(past.now() / 1000)),
  }
  for (const { admin, path } of companies.slice(0, 2))
    await runTask(stage, admin, await putTask(admin, path, { category: 'cdrs', action: 'export', ...range }))
  const rates = ['prefix,rate_cost,rate_name', '34,0.021,ES', '351,0.026,PT', '353,0.024,IE'].join('\n')
  await putTask(operator, master, { category: 'rates', action: 'import', file_name: 'new-rates.csv' }, rates)
  const [seller] = sellers
  if (!seller) return
  const wanted = [
    'e164',
    numberOf(places.seattle, numbersInStock + 30),
    numberOf(places.seattle, numbersInStock + 31),
  ]
  await putTask(seller.admin, seller.path, { ...numberImport, file_name: 'seattle.csv' }, wanted.join('\n'))
}

export const putAlerts = async ({ operator, masterId, past }: Stage, companies: readonly BuiltCompany[]) => {
  const from = [{ type: 'account', value: masterId }]
  const [first, second] = companies
  const alerts = [
    {
      title: 'Maintenance on Sunday',
      message: 'From 02:00 to 03:00 UTC calls may be interrupted for a minute.',
      category: 'maintenance',
      expiration_date: gregorianOfUnix((past.end + 6 * dayMs) / 1000),
      to: [{ type: 'all', value: 'users' }],
    },
    {
      title: 'New wholesale prices',
      message: 'From next month on a line costs 2.40 dollars.',
      category: 'prices',
      to: [{ type: 'resellers', value: 'admins' }],
    },
    {
      title: 'Carrier fault in Portland',
      message: 'Calls to some numbers fail. The carrier is at it.',
      category: 'fault',
      level: 'warning',
      to: [{ type: 'all', value: 'admins' }],
    },
    ...[first, second].flatMap((built) =>
      built
        ? [
            {
              title: 'Please check your emergency address',
              message: 'It was not confirmed for a year.',
              category: 'emergency',
              level: 'warning',
              to: [{ type: built.id, value: 'admins' }],
            },
          ]
        : [],
    ),
  ]
  for (const alert of alerts) await operator.put(`accounts/${masterId}/alerts`, { ...alert, from })
}

/** Whom networks let in, how much they may send, how many calls there may be. */
export const putLimits = async (companies: readonly BuiltCompany[]) => {
  for (const [index, { path, admin, company, seller }] of companies.entries()) {
    if (index % 2 === 0) {
      const cidrs = [`198.51.100.${index * 8}/29`, '203.0.113.0/26']
      await admin.post(`${path}/access_lists`, {
        order: 'allow,deny',
        cidrs,
        user_agent: '^(Yealink|Poly|snom|Cisco|Grand)',
      })
    }
    if (index % 3 === 0) {
      const device = { per_minute: { registrations: 10, invites: 30, total_packets: 600 } }
      const account = { per_minute: { registrations: 200, invites: 300, total_packets: 9000 } }
      await admin.post(`${path}/rate_limits`, { account, device })
    }
    if (company.users > 4)
      await seller.admin.post(`${path}/limits`, { twoway_trunks: Math.ceil(company.users / 3) })
  }
}

/** Systems outside that are told of things: both are switched off, for they are not there. */
export const putWebhooks = async ({ path, admin }: BuiltCompany) => {
  const how = { format: 'json', version: 'v2', http_verb: 'post' }
  // A name that leads nowhere, for good.
  const host = 'https://crm.invalid'
  const crm = { name: 'CRM', uri: `${host}/people`, hook: 'user.*', ...how, enabled: false }
  await admin.put(`${path}/webhooks`, crm)
  const board = { name: 'Wallboard', uri: `${host}/tasks`, hook: 'task.finished', ...how }
  const hook = `${path}/webhooks/${textIn(await admin.put(`${path}/webhooks`, board), 'id')}`
  await admin.post(`${hook}/test`, {})
  await admin.patch(hook, { enabled: false })
}

/** What happens in an office in two months: for the audit. */
export const liveOn = async (companies: readonly BuiltCompany[]) => {
  for (const { path, admin, userIds, calling } of companies) {
    const leaver = userIds.at(-1)
    const [, line] = calling.lines
    if (line) await admin.patch(`${path}/devices/${line.deviceId}`, { name: `${line.name}, 2nd floor` })
    if (leaver && userIds.length > 6) await admin.patch(`${path}/users/${leaver}`, { enabled: false })
  }
}

export const watchMoney = async ({ path, admin }: BuiltCompany) => {
  await admin.put(`${path}/api_keys`, { name: 'Reports', scopes: ['cdrs:read', 'ledgers:read'] })
  await admin.patch(path, { notifications: { low_balance: { threshold: 50, enabled: true } } })
}
