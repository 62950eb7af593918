import type { RunningServer } from '../../compose.ts'
import { dayMs } from '../../lib/gregorian.ts'
import type { Line, Telephoning } from './calls.ts'
import type { Chance } from './chance.ts'
import { domainOf, emailOf, languages, type Reseller, resellers, type SampleCompany } from './companies.ts'
import { type Caller, type DemoClient, textIn } from './desk.ts'
import type { Past } from './past.ts'
import { type Person, peopleOf } from './people.ts'
import { commonPhone, deskPhone, type Phone, softphone } from './phones.ts'
import { type Plan, wholesale } from './plans.ts'

/** Somebody who may sign in. */
export interface SignIn {
  username: string
  /** Undefined: it was there before, and nobody knows it. */
  password: string | undefined
  account: string
  role: string
}

/** What everybody who tells a part of the story needs. */
export interface Stage {
  server: RunningServer
  past: Past
  chance: Chance
  desk: DemoClient
  operator: Caller
  masterId: string
  newPassword(): string
  /** Hears of every account. */
  onAccount(name: string): void
  signIns: SignIn[]
  /** Does a round of the server, unless another process of the store is at it. */
  work(round: string): Promise<void>
  counts: Record<'accounts' | 'users' | 'devices' | 'numbers', number>
}

interface Built {
  id: string
  path: string
  /** Its admin at work. */
  admin: Caller
}

export interface BuiltReseller extends Built {
  reseller: Reseller
  /** Ids by name. */
  plans: ReadonlyMap<string, string>
}

export interface BuiltCompany extends Built {
  company: SampleCompany
  /** Who sells to it. */
  seller: BuiltReseller
  /** The first users are the ones who sign in. */
  userIds: readonly string[]
  calling: Telephoning
}

const realmOf = (company: { slug: string }) => `sip.${domainOf(company)}`

const untold = 'send_email_on_creation=false'

const putUser = async (stage: Stage, path: string, by: Caller, person: Person, data: object) => {
  const names = { first_name: person.first, last_name: person.last, username: person.username }
  const made = await by.put(`${path}/users?${untold}`, { ...names, ...data })
  stage.counts.users += 1
  return textIn(made, 'id')
}

const signInOf = (stage: Stage, account: string, { username }: Person, role: string) => {
  const password = stage.newPassword()
  stage.signIns.push({ username, password, account, role })
  return { password }
}

/** An account, and the admin who is responsible for it. */
const putAccount = async (
  stage: Stage,
  by: Caller,
  parentId: string,
  { name, slug, tongue, timezone }: Pick<SampleCompany, 'name' | 'slug' | 'tongue' | 'timezone'>,
  admin: Person,
): Promise<Built & { adminId: string }> => {
  const language = languages[tongue]
  const data = { name, realm: realmOf({ slug }), timezone, language }
  const id = textIn(await by.put(`accounts/${parentId}?${untold}`, data), 'id')
  stage.counts.accounts += 1
  stage.onAccount(name)
  const path = `accounts/${id}`
  const adminId = await putUser(stage, path, by, admin, {
    ...signInOf(stage, name, admin, 'admin'),
    email: emailOf(admin, { slug }),
    priv_level: 'admin',
    language,
  })
  return { id, path, adminId, admin: await stage.desk.of(id, adminId) }
}

const putPlans = async ({ path, admin }: Built, plans: readonly Plan[]) => {
  const ids = new Map<string, string>()
  for (const plan of plans) ids.set(plan.name, textIn(await admin.put(`${path}/service_plans`, plan), 'id'))
  return ids
}

const buildReseller = async (stage: Stage, reseller: Reseller): Promise<BuiltReseller> => {
  const { operator, masterId, chance } = stage
  const [admin, clerk] = peopleOf(chance, reseller.tongue, 2)
  if (!admin || !clerk) throw new Error('a reseller needs two people')
  const built = await putAccount(stage, operator, masterId, reseller, admin)
  await operator.put(`${built.path}/reseller`, {})
  await operator.patch(built.path, { wnm_allow_additions: true })
  await putUser(stage, built.path, built.admin, clerk, {
    ...signInOf(stage, reseller.name, clerk, 'user'),
    email: emailOf(clerk, reseller),
    language: languages[reseller.tongue],
  })
  return { ...built, reseller, plans: await putPlans(built, reseller.plans) }
}

const putPhone = async (stage: Stage, path: string, by: Caller, phone: Phone, ownerId?: string) => {
  const owned = ownerId === undefined ? {} : { owner_id: ownerId }
  const made = await by.put(`${path}/devices`, { ...phone.data, ...owned })
  stage.counts.devices += 1
  return textIn(made, 'id')
}

const firstExtension = 101
const firstCommonExtension = 201

type NewCompany = Built & { adminId: string; company: SampleCompany }

/** Somebody of a company; the first one is its admin, who is there already. */
const hire = async (
  stage: Stage,
  { path, admin, adminId, company }: NewCompany,
  person: Person,
  place: number,
) => {
  if (place === 0) return adminId
  // Of larger companies one of the people may sign in as well.
  const mayLook = place === 1 && company.users > 6
  return putUser(stage, path, admin, person, {
    ...(mayLook ? signInOf(stage, company.name, person, 'user') : {}),
    email: emailOf(person, company),
    language: languages[company.tongue],
    presence_id: String(firstExtension + place),
  })
}

const connect = async (
  stage: Stage,
  { path, admin }: Built,
  phone: Phone,
  line: Omit<Line, 'deviceId' | 'agent' | 'username'>,
): Promise<Line> => ({
  ...line,
  deviceId: await putPhone(stage, path, admin, phone, line.ownerId),
  username: phone.data.sip.username,
  agent: phone.agent,
})

const sipName = ({ slug }: SampleCompany, extension: string) => `${slug.slice(0, 12)}-${extension}`

/** The people of a company, with a phone each, some with a second one; and the phones that are nobody's. */
const staff = async (stage: Stage, built: NewCompany, people: readonly Person[]) => {
  const { company } = built
  const userIds: string[] = []
  const lines: Line[] = []
  for (const [place, person] of people.entries()) {
    const ownerId = await hire(stage, built, person, place)
    userIds.push(ownerId)
    const extension = String(firstExtension + place)
    const line = { ownerId, name: `${person.first} ${person.last}`, extension }
    const name = sipName(company, extension)
    lines.push(await connect(stage, built, deskPhone(stage.chance, person.first, name), line))
    if (stage.chance.is(0.25))
      lines.push(await connect(stage, built, softphone(person.first, `${name}s`), line))
  }
  for (const [place, name] of (company.common ?? []).entries()) {
    const extension = String(firstCommonExtension + place)
    const phone = commonPhone(name, sipName(company, extension))
    lines.push(await connect(stage, built, phone, { ownerId: undefined, name, extension }))
  }
  return { userIds, lines }
}

const callingOf = (
  { past }: Stage,
  { id, company }: NewCompany,
  resellerId: string,
  lines: readonly Line[],
): Telephoning => {
  const { tongue, timezone, rhythm, calls, disabledDaysAgo = 0 } = company
  return {
    ...{ tongue, timezone, rhythm, calls, lines, resellerId },
    accountId: id,
    realm: realmOf(company),
    until: past.end - disabledDaysAgo * dayMs,
    numbers: [],
  }
}

const buildCompany = async (
  stage: Stage,
  seller: BuiltReseller,
  parentId: string,
  company: SampleCompany,
): Promise<BuiltCompany[]> => {
  const people = peopleOf(stage.chance, company.tongue, company.users)
  const [admin] = people
  if (!admin) throw new Error('a company needs somebody')
  const built = { ...(await putAccount(stage, seller.admin, parentId, company, admin)), company }
  const { userIds, lines } = await staff(stage, built, people)
  const calling = callingOf(stage, built, seller.id, lines)
  const whole: BuiltCompany[] = [{ ...built, seller, userIds, calling }]
  for (const branch of company.below ?? [])
    whole.push(...(await buildCompany(stage, seller, built.id, branch)))
  return whole
}

/** Everybody there is: resellers, their customers, the people and their phones. */
export const buildTree = async (stage: Stage) => {
  const { operator, masterId } = stage
  const planId = textIn(await operator.put(`accounts/${masterId}/service_plans`, wholesale), 'id')
  const sellers: BuiltReseller[] = []
  const companies: BuiltCompany[] = []
  for (const reseller of resellers) {
    const seller = await buildReseller(stage, reseller)
    await operator.post(`${seller.path}/services/topup`, { amount: 4000 })
    sellers.push(seller)
    for (const company of reseller.customers)
      companies.push(...(await buildCompany(stage, seller, seller.id, company)))
    await operator.post(`${seller.path}/services`, { add: [planId] })
  }
  return { sellers, companies }
}
