import type { RunningServer } from '../src/compose.ts'
import { dayMs } from '../src/lib/gregorian.ts'
import { elementAt } from '../src/lib/list.ts'
import { type History, idIn, type Send } from './api-client.ts'
import type { CallingCompany, Line } from './calls.ts'
import { type Company, numberOf, type Place, type Reseller, resellers, wholesale } from './companies.ts'
import { commonPhone, deskPhone, type Person, type Phone, peopleOf, softphone } from './people.ts'
import type { Random } from './random.ts'

/** A user who may sign in. */
export interface SignIn {
  username: string
  /** Undefined: the user existed before. */
  password: string | undefined
  account: string
  role: string
}

/** What all parts of the demo use. */
export interface Demo {
  server: RunningServer
  history: History
  random: Random
  signIn(accountId: string, userId: string): Promise<Send>
  operator: Send
  masterId: string
  newPassword(): string
  onAccount(name: string): void
  signIns: SignIn[]
  counts: Record<'accounts' | 'users' | 'devices' | 'numbers', number>
}

interface Built {
  id: string
  path: string
  /** Sends requests of its admin. */
  admin: Send
}

export interface BuiltReseller extends Built {
  /** Ids of plans by name. */
  plans: ReadonlyMap<string, string>
}

export interface BuiltCompany extends Built {
  company: Company
  seller: BuiltReseller
  userIds: readonly string[]
  calling: CallingCompany
}

type Owner = Pick<Company, 'slug' | 'name' | 'tongue' | 'place'>

const languages = { en: 'en-US', de: 'de-DE', ar: 'ar-AE' }
const noEmail = 'send_email_on_creation=false'

const realmOf = ({ slug }: Owner) => `sip.${slug}.example.com`

/** Adds a user, who may sign in if there is a role. */
const putUser = async (
  demo: Demo,
  { path, by, owner }: { path: string; by: Send; owner: Owner },
  { first: first_name, last: last_name, username }: Person,
  { role, ...more }: { role?: 'admin' | 'user' | undefined; priv_level?: 'admin'; presence_id?: string },
) => {
  const password = role && demo.newPassword()
  if (role) demo.signIns.push({ username, password, account: owner.name, role })
  demo.counts.users += 1
  // No server accepts mail for a name under .invalid.
  const email = `${username}@${owner.slug}.invalid`
  const data = { first_name, last_name, username, email, language: languages[owner.tongue], ...more }
  return idIn(await by(`PUT ${path}/users?${noEmail}`, { ...data, ...(password && { password }) }))
}

/** An account and its admin. */
const putAccount = async (demo: Demo, by: Send, parentId: string, owner: Owner, admin: Person) => {
  const { name, tongue, place } = owner
  const data = { name, realm: realmOf(owner), timezone: place.timezone, language: languages[tongue] }
  const id = idIn(await by(`PUT accounts/${parentId}?${noEmail}`, data))
  demo.counts.accounts += 1
  demo.onAccount(name)
  const path = `accounts/${id}`
  const adminId = await putUser(demo, { path, by, owner }, admin, { role: 'admin', priv_level: 'admin' })
  return { id, path, adminId, admin: await demo.signIn(id, adminId) }
}

const buildReseller = async (demo: Demo, reseller: Reseller): Promise<BuiltReseller> => {
  const { operator, masterId, random } = demo
  const people = peopleOf(random, reseller.tongue, 2)
  const built = await putAccount(demo, operator, masterId, reseller, elementAt(people, 0))
  const { path, admin } = built
  await operator(`PUT ${path}/reseller`, {})
  await operator(`PATCH ${path}`, { wnm_allow_additions: true })
  await putUser(demo, { path, by: admin, owner: reseller }, elementAt(people, 1), { role: 'user' })
  const plans = new Map<string, string>()
  for (const plan of reseller.plans)
    plans.set(plan.name, idIn(await admin(`PUT ${path}/service_plans`, plan)))
  return { ...built, plans }
}

export const numberPath = (account: string, number: string) =>
  `${account}/phone_numbers/${encodeURIComponent(number)}`

/** Buys numbers from the stock; the first one gets the name and the emergency address of the company. */
const buyNumbers = async (
  path: string,
  { admin }: BuiltReseller,
  company: Company,
  numbers: readonly string[],
) => {
  for (const number of numbers) await admin(`PUT ${numberPath(path, number)}/activate`, {})
  const { name, slug, address, place } = company
  const cnam = { display_name: slug.replaceAll('-', ' ').slice(0, 15).toUpperCase() }
  const [street_address, postal_code] = address ?? []
  const located = { street_address, postal_code, locality: place.city, region: place.region }
  const e911 = address ? { e911: { caller_name: name.slice(0, 30), ...located } } : {}
  await admin(`PATCH ${numberPath(path, elementAt(numbers, 0))}`, { cnam, ...e911 })
}

const firstExtension = 101
const firstCommonExtension = 201

/** Phones of users (some users have two) and phones without an owner. */
const putPhones = async (
  demo: Demo,
  { path, admin }: Built,
  { slug, common = [] }: Company,
  people: readonly (Person & { ownerId: string })[],
) => {
  const lines: Line[] = []
  const connect = async (phone: Phone, line: Pick<Line, 'ownerId' | 'name' | 'extension'>) => {
    const owner = line.ownerId === undefined ? {} : { owner_id: line.ownerId }
    const deviceId = idIn(await admin(`PUT ${path}/devices`, { ...phone.data, ...owner }))
    demo.counts.devices += 1
    lines.push({ ...line, deviceId, username: phone.data.sip.username, agent: phone.agent })
  }
  const usernameOf = (extension: string) => `${slug.slice(0, 12)}-${extension}`
  for (const [index, { first, last, ownerId }] of people.entries()) {
    const extension = String(firstExtension + index)
    const line = { ownerId, name: `${first} ${last}`, extension }
    await connect(deskPhone(demo.random, first, usernameOf(extension)), line)
    if (demo.random.is(0.25)) await connect(softphone(first, `${usernameOf(extension)}s`), line)
  }
  for (const [index, name] of common.entries()) {
    const extension = String(firstCommonExtension + index)
    await connect(commonPhone(name, usernameOf(extension)), { ownerId: undefined, name, extension })
  }
  return lines
}

/** A company and its branches, with people, phones, numbers and the plan. */
const buildCompany = async (
  demo: Demo,
  {
    seller,
    parentId,
    nextNumber,
  }: { seller: BuiltReseller; parentId: string; nextNumber(place: Place): string },
  company: Company,
): Promise<BuiltCompany[]> => {
  const { tongue, place, plan, branches = [], disabledDaysAgo = 0, volume, calls } = company
  const people = peopleOf(demo.random, tongue, company.users)
  const { adminId, ...built } = await putAccount(demo, seller.admin, parentId, company, elementAt(people, 0))
  const { id, path, admin } = built
  const userIds = [adminId]
  for (const [index, person] of people.entries()) {
    if (index === 0) continue
    // In larger companies one more user may sign in.
    const role = index === 1 && company.users > 6 ? 'user' : undefined
    const presence_id = String(firstExtension + index)
    userIds.push(await putUser(demo, { path, by: admin, owner: company }, person, { role, presence_id }))
  }
  const owners = people.map((person, index) => ({ ...person, ownerId: elementAt(userIds, index) }))
  const lines = await putPhones(demo, built, company, owners)
  const numbers = Array.from({ length: company.numbers }, () => nextNumber(place))
  await buyNumbers(path, seller, company, numbers)
  const planId = plan && seller.plans.get(plan)
  if (planId) {
    const tax = tongue === 'de' ? { tax: { jurisdiction: 'DE' } } : {}
    await seller.admin(`POST ${path}/services`, { add: [planId], ...tax })
    await seller.admin(`PATCH ${path}/limits/operator`, { allow_postpay: true, max_postpay_amount: 100 })
  }
  const calling = {
    accountId: id,
    resellerId: seller.id,
    realm: realmOf(company),
    timezone: place.timezone,
    until: demo.history.end - disabledDaysAgo * dayMs,
    ...{ tongue, volume, calls, numbers, lines },
  }
  const whole: BuiltCompany[] = [{ ...built, company, seller, userIds, calling }]
  for (const branch of branches)
    whole.push(...(await buildCompany(demo, { seller, parentId: id, nextNumber }, branch)))
  return whole
}

/** Resellers and their customers. */
export const buildAccounts = async (demo: Demo) => {
  const { operator, masterId } = demo
  const planId = idIn(await operator(`PUT accounts/${masterId}/service_plans`, wholesale))
  const taken = new Map<Place, number>()
  const nextNumber = (place: Place) => {
    const index = taken.get(place) ?? 0
    taken.set(place, index + 1)
    return numberOf(place, index)
  }
  const sellers: BuiltReseller[] = []
  const companies: BuiltCompany[] = []
  for (const reseller of resellers) {
    const seller = await buildReseller(demo, reseller)
    await operator(`POST ${seller.path}/services/topup`, { amount: 4000 })
    sellers.push(seller)
    for (const customer of reseller.customers)
      companies.push(...(await buildCompany(demo, { seller, parentId: seller.id, nextNumber }, customer)))
    await operator(`POST ${seller.path}/services`, { add: [planId] })
  }
  return { sellers, companies }
}
