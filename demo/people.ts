import { randomHex } from '../src/lib/ids.ts'
import type { Random } from './random.ts'

/** A person, before there is a user. */
export interface Person {
  first: string
  last: string
  /** In the letters of user names and email addresses. */
  username: string
}

export type Tongue = 'en' | 'de' | 'ar'

const wordsIn = (text: string) => text.split(' ')

const names = {
  en: {
    first: wordsIn(
      'Alice Ben Carla Daniel Emma Felix Grace Henry Iris James Kate Liam Maya Noah Olivia Peter Quinn Rosa Sam Tessa Victor Wendy',
    ),
    last: wordsIn(
      'Adams Brooks Carter Diaz Ellis Foster Grant Hayes Ivers Jensen Keller Lopez Mason Novak Owens Park Quigley Reyes Shaw Tran Vance Walsh',
    ),
  },
  de: {
    first: wordsIn(
      'Anna Bernd Clara Dieter Elke Frank Greta Hannes Ines Jonas Katrin Lukas Miriam Nils Petra Ralf Sabine Tobias Ulrike Volker',
    ),
    last: wordsIn(
      'Albrecht Brandt Conrad Dietz Engel Fischer Graf Hartmann Jung Köhler Lorenz Müller Neumann Otto Pohl Richter Schäfer Thiel Vogel Weiß',
    ),
  },
}

const arabic: readonly Person[] = [
  { first: 'ليلى', last: 'حداد', username: 'layla.haddad' },
  { first: 'عمر', last: 'منصور', username: 'omar.mansour' },
  { first: 'نور', last: 'الخطيب', username: 'nour.alkhatib' },
  { first: 'سامي', last: 'درويش', username: 'sami.darwish' },
  { first: 'هناء', last: 'يوسف', username: 'hanaa.youssef' },
]

const plain: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss' }

export const personOf = (random: Random, tongue: Tongue): Person => {
  const known = names[tongue === 'de' ? 'de' : 'en']
  const [first, last] = [random.one(known.first), random.one(known.last)]
  const username = `${first}.${last}`.toLowerCase().replace(/[äöüß]/g, (letter) => plain[letter] ?? letter)
  return { first, last, username }
}

/** People of one company: their user names differ. */
export const peopleOf = (random: Random, tongue: Tongue, count: number): Person[] => {
  if (tongue === 'ar') return arabic.slice(0, count)
  const found = new Map<string, Person>()
  while (found.size < count) {
    const person = personOf(random, tongue)
    found.set(person.username, person)
  }
  return [...found.values()]
}

/** A device as the API takes it, and its user agent. */
export interface Phone {
  agent: string
  data: { name: string; device_type: string; sip: { username: string; password: string } }
}

/** Brand, family, model, name, user agent, and the beginning of the MAC addresses. */
const models = [
  ['yealink', 't4x', 't46s', 'Yealink T46S', 'Yealink SIP-T46S 66.86.0.15', '001565'],
  ['yealink', 't5x', 't54w', 'Yealink T54W', 'Yealink SIP-T54W 96.86.0.70', '805ec0'],
  ['polycom', 'vvx', '450', 'Poly VVX 450', 'PolycomVVX-VVX_450-UA/6.4.3', '64167f'],
  ['snom', 'd7xx', 'd785', 'Snom D785', 'snomD785/10.1.175.16', '000413'],
  ['cisco', 'spa5xx', 'spa504g', 'Cisco SPA504G', 'Cisco/SPA504G-7.6.2', '3ccee7'],
  ['grandstream', 'gxp21xx', 'gxp2170', 'Grandstream GXP2170', 'Grandstream GXP2170 1.0.11.64', '000b82'],
] as const

// SIP passwords do not come from the random values of the demo: those are the same in every run.
const phone = (
  agent: string,
  name: string,
  device_type: string,
  username: string,
  more: object = {},
): Phone => ({
  agent,
  data: { name, device_type, sip: { username, password: randomHex(12) }, ...more },
})

export const deskPhone = (random: Random, owner: string, username: string): Phone => {
  const [endpoint_brand, endpoint_family, endpoint_model, label, agent, vendor] = random.one(models)
  return phone(agent, `${label} ${owner}`, 'sip_device', username, {
    mac_address: `${vendor}${random.hex(6)}`.replace(/(..)(?!$)/g, '$1:'),
    provision: { endpoint_brand, endpoint_family, endpoint_model },
  })
}

export const softphone = (owner: string, username: string) =>
  phone('Telephone 1.6', `Softphone ${owner}`, 'softphone', username)

/** A phone without an owner: a fax at an adapter, a door, a phone in the lobby. */
export const commonPhone = (name: string, username: string) =>
  phone('Grandstream HT802 1.0.29.8', name, name === 'Fax' ? 'fax' : 'ata', username)
