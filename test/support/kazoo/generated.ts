// A Kazoo of any size whose documents are made when they are asked for: the same ones each time, and none is kept.
import { hash } from 'node:crypto'
import type { Json } from '../../../src/lib/json.ts'
import { compareIds, type Documents, documentsOf, type StoredDocument } from './kept-database.ts'
import { databaseOf, encodedName, gregorian, idOf } from './sample.ts'

export interface SystemSize {
  accounts: number
  users: number
  numbers: number
  /** Call records, each a leg; two are a call. */
  calls: number
  months: number
  rates: number
}

export const largeSystem: SystemSize = {
  accounts: 2000,
  users: 20_000,
  numbers: 50_000,
  calls: 2_000_000,
  months: 24,
  rates: 1000,
}

const resellers = 20
const creditUnits = 10_000_000
const debitsOfMonth = 3
const debitUnits = 1200

const began = gregorian(2018, 1, 1)

/** How many of some there are for one of several owners. */
const shareOf = (total: number, owners: number, owner: number) =>
  Math.floor(((owner + 1) * total) / owners) - Math.floor((owner * total) / owners)

const firstOf = (total: number, owners: number, owner: number) => Math.floor((owner * total) / owners)

const stored = (fields: Json & { _id: string }): StoredDocument => {
  const { _id: id, ...rest } = fields
  const rev = `1-${hash('md5', id)}`
  return { id, rev, text: JSON.stringify({ _id: id, _rev: rev, ...rest }), files: [], losers: [] }
}

const accountIds: string[] = []

export const generatedAccount = (index: number): string => {
  accountIds[index] ??= idOf(`generated account ${index}`)
  return accountIds[index]
}

const parentsOf = (index: number): number[] => {
  if (index === 0) return []
  return index <= resellers ? [0] : [0, 1 + (index % resellers)]
}

const stamps = (type: string, index: number, database = databaseOf(generatedAccount(index))) => ({
  pvt_type: type,
  pvt_account_id: generatedAccount(index),
  pvt_account_db: encodedName(database),
  pvt_created: began + index * 60,
  pvt_modified: began + index * 60 + 5,
  pvt_vsn: index % 2 === 0 ? '1' : '2',
})

const accountFields = (index: number) => ({
  _id: generatedAccount(index),
  name: `Account ${index}`,
  realm: `account${index}.sip.example`,
  timezone: 'America/New_York',
  language: 'en-us',
  ...stamps('account', index),
  pvt_tree: parentsOf(index).map(generatedAccount),
  pvt_enabled: true,
  ...(index === 0 ? { pvt_superduper_admin: true } : {}),
  ...(index > 0 && index <= resellers ? { pvt_reseller: true } : {}),
  pvt_reseller_id: generatedAccount(parentsOf(index).at(-1) ?? 0),
  pvt_api_key: idOf(`key ${index}`) + idOf(`rest of key ${index}`),
})

export const generatedUser = (index: number) => ({
  id: idOf(`generated user ${index}`),
  username: `user${index}`,
  password: `password-of-${index}`,
})

const userFields = (account: number, index: number) => {
  const { id, username, password } = generatedUser(index)
  return {
    _id: id,
    username,
    first_name: 'User',
    last_name: String(index),
    email: `user${index}@account${account}.example`,
    priv_level: index % 10 === 0 ? 'admin' : 'user',
    enabled: true,
    ...stamps('user', account),
    pvt_md5_auth: hash('md5', `${username}:${password}`),
    pvt_sha1_auth: hash('sha1', `${username}:${password}`),
  }
}

const deviceFields = (account: number, index: number) => ({
  _id: idOf(`generated device ${index}`),
  name: `Phone ${index}`,
  enabled: true,
  device_type: 'sip_device',
  owner_id: generatedUser(index).id,
  mac_address: index
    .toString(16)
    .padStart(12, '0')
    .replace(/(..)(?!$)/g, '$1:'),
  sip: { method: 'password', username: `phone${index}`, password: idOf(`phone ${index}`) },
  ...stamps('device', account),
})

const numberOf = (index: number) =>
  `+1${201 + Math.floor(index / 1000)}555${String(index % 1000).padStart(4, '0')}`

const numberFields = (account: number, index: number) => ({
  _id: numberOf(index),
  pvt_type: 'number',
  pvt_db_name: encodedName(`numbers/${numberOf(index).slice(0, 5)}`),
  pvt_state: 'in_service',
  pvt_assigned_to: generatedAccount(account),
  pvt_used_by: 'callflow',
  pvt_module_name: 'knm_local',
  pvt_features: {},
  pvt_created: began + index,
  pvt_modified: began + index,
  pvt_ported_in: false,
})

const limitsFields = (index: number) => ({
  _id: 'limits',
  twoway_trunks: 5,
  inbound_trunks: 2,
  allow_prepay: true,
  pvt_allow_postpay: true,
  pvt_max_postpay_amount: 50_000,
  ...stamps('limits', index),
})

const serviceFields = (index: number) => ({
  _id: generatedAccount(index),
  plans: {},
  quantities: { account: {}, cascade: {}, manual: {} },
  ...stamps('service', index, 'services'),
  pvt_status: 'good_standing',
})

const monthName = (month: number) => {
  const year = 2024 + Math.floor(month / 12)
  return `${year}${String((month % 12) + 1).padStart(2, '0')}`
}

const monthBegan = (month: number) => gregorian(2024 + Math.floor(month / 12), (month % 12) + 1, 1)

/** Two legs of one call, a few minutes behind the call before. */
const callFields = (account: number, month: number, index: number) => {
  const call = index >> 1
  const start = monthBegan(month) + 3600 + call * 311
  const seconds = 20 + (index % 97)
  const key = ((account * 31 + month * 7 + call) % 0xffffffff).toString(16).padStart(8, '0')
  const callId = `${account}-${month}-${index}@10.1.2.3`
  const name = monthName(month)
  const isCaller = index % 2 === 0
  return {
    _id: `${name}-${callId}`,
    call_id: callId,
    call_direction: isCaller ? 'inbound' : 'outbound',
    ...(isCaller ? {} : { other_leg_call_id: `${account}-${month}-${index - 1}@10.1.2.3` }),
    caller_id_name: `User ${index}`,
    caller_id_number: '+12015550100',
    callee_id_number: '+12025550199',
    from: `user@account${account}.sip.example`,
    to: `+12025550199@account${account}.sip.example`,
    request: `+12025550199@account${account}.sip.example`,
    hangup_cause: 'NORMAL_CLEARING',
    disposition: 'SUCCESS',
    interaction_id: `${start}-${key}`,
    interaction_time: start,
    interaction_key: key,
    timestamp: start + seconds,
    channel_created_time: (start - 62_167_219_200) * 1_000_000,
    duration_seconds: seconds,
    billing_seconds: seconds - 5,
    ringing_seconds: 5,
    custom_channel_vars: {
      account_id: generatedAccount(account),
      account_billing: 'limits_inbound_trunk',
      bridge_id: callId,
      ecallmgr_node: 'ecallmgr@node1.kazoo.example',
    },
    ...stamps('cdr', account, databaseOf(generatedAccount(account), name)),
    pvt_vsn: '2',
  }
}

const ledgerOf = (account: number, month: number, fields: object & { _id: string; amount: number }) => ({
  ...stamps('ledger', account, databaseOf(generatedAccount(account), monthName(month))),
  pvt_created: monthBegan(month) + 60,
  pvt_modified: monthBegan(month) + 60,
  account: { id: generatedAccount(account), name: `Account ${account}` },
  ...fields,
})

/** The first month has a credit, each later one what the month before has left. */
const ledgerFields = (account: number, month: number) => {
  const name = monthName(month)
  const rolled = `${name}-ledgers_monthly_rollover`
  const first =
    month === 0
      ? {
          _id: `${name}-${idOf(`credit of ${account}`)}`,
          amount: creditUnits,
          source: { service: 'adjustment', id: idOf(`credit of ${account}`) },
          usage: { type: 'credit', quantity: 0, unit: 'USD' },
          pvt_ledger_type: 'credit',
        }
      : {
          _id: rolled,
          amount: creditUnits - month * debitsOfMonth * debitUnits,
          source: { service: 'rollovers', id: rolled },
          usage: { type: 'voip', quantity: 0, unit: 'sec' },
          pvt_ledger_type: 'credit',
        }
  const debits = Array.from({ length: debitsOfMonth }, (_, at) => ({
    _id: `${name}-${idOf(`debit ${at} of ${account} in ${name}`)}`,
    amount: debitUnits,
    source: { service: 'per-minute-voip', id: `${account}-${month}-${at * 2}@10.1.2.3` },
    usage: { type: 'voice', quantity: 60, unit: 'sec' },
    period: { start: monthBegan(month) + 3600 },
    pvt_ledger_type: 'debit',
  }))
  return [first, ...debits].map((fields) => ledgerOf(account, month, fields))
}

const rateFields = (index: number) => ({
  _id: idOf(`generated rate ${index}`),
  prefix: String(1000 + index),
  rate_cost: 0.01 + (index % 90) / 1000,
  rate_increment: 60,
  rate_minimum: 60,
  rate_surcharge: 0,
  rate_name: `Rate ${index}`,
  direction: ['outbound'],
  routes: [`^\\+?${1000 + index}.+$`],
  weight: 10,
  pvt_type: 'rate',
  pvt_created: began,
  pvt_modified: began,
})

const range = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at)

// A database is read page by page: this number of the last databases stays in memory.
const maxKept = 32

/** Documents from a list that is made again after its eviction. */
const createForgetful = () => {
  const kept = new Map<() => readonly StoredDocument[], Documents>()
  return (count: number, make: () => readonly StoredDocument[]): Documents => {
    const made = () => {
      const found = kept.get(make) ?? documentsOf(make())
      kept.delete(make)
      kept.set(make, found)
      for (const oldest of kept.keys()) {
        if (kept.size <= maxKept) break
        kept.delete(oldest)
      }
      return found
    }
    return { count, at: (index) => made().at(index), idAt: (index) => made().idAt(index) }
  }
}

const ownDocuments = ({ accounts, users, numbers }: SystemSize, account: number) => {
  const people = range(shareOf(users, accounts, account), firstOf(users, accounts, account))
  const lines = range(shareOf(numbers, accounts, account), firstOf(numbers, accounts, account))
  return [
    accountFields(account),
    limitsFields(account),
    ...people.flatMap((index) => [userFields(account, index), deviceFields(account, index)]),
    ...lines.map((index) => numberFields(account, index)),
  ].map(stored)
}

const monthCount = ({ accounts, months, calls }: SystemSize, account: number, month: number) =>
  shareOf(calls, accounts * months, account * months + month)

const monthDocuments = (size: SystemSize, account: number, month: number) =>
  [
    ...ledgerFields(account, month),
    ...range(monthCount(size, account, month)).map((index) => callFields(account, month, index)),
  ].map(stored)

/** The databases of a system of this size, for the stand-in. */
export const generatedSystem = (size: SystemSize = largeSystem): ReadonlyMap<string, Documents> => {
  const { accounts, users, numbers, months, rates } = size
  const forgetful = createForgetful()
  const databases = new Map<string, Documents>()
  const all = range(accounts)
  const ownerOf = new Map(
    all.flatMap((account) =>
      range(shareOf(numbers, accounts, account), firstOf(numbers, accounts, account)).map(
        (index) => [index, account] as const,
      ),
    ),
  )
  const config = { pvt_type: 'config', pvt_created: began, pvt_modified: began }
  const add = (name: string, count: number, make: () => readonly StoredDocument[]) =>
    databases.set(name, forgetful(count, make))

  add('system_config', 1, () => [
    stored({ _id: 'accounts', default: { master_account_id: generatedAccount(0) }, ...config }),
  ])
  add('accounts', accounts, () => all.map((account) => stored(accountFields(account))))
  add('services', accounts, () => all.map((account) => stored(serviceFields(account))))
  add('ratedeck', rates, () => range(rates).map((index) => stored(rateFields(index))))
  for (const shard of range(Math.ceil(numbers / 1000))) {
    const some = range(Math.min(1000, numbers - shard * 1000), shard * 1000)
    add(`numbers/${numberOf(shard * 1000).slice(0, 5)}`, some.length, () =>
      some.map((index) => stored(numberFields(ownerOf.get(index) ?? 0, index))),
    )
  }
  for (const account of all) {
    const id = generatedAccount(account)
    const own = 2 + 2 * shareOf(users, accounts, account) + shareOf(numbers, accounts, account)
    add(databaseOf(id), own, () => ownDocuments(size, account))
    for (const month of range(months))
      add(databaseOf(id, monthName(month)), 1 + debitsOfMonth + monthCount(size, account, month), () =>
        monthDocuments(size, account, month),
      )
  }
  return new Map([...databases].sort(([one], [other]) => compareIds(one, other)))
}
