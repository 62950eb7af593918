import type { Chance } from './chance.ts'

/** Somebody before there is a user. */
export interface Person {
  first: string
  last: string
  /** In the letters of user names and mail addresses. */
  username: string
}

const english = {
  first:
    'Alice Ben Carla Daniel Emma Felix Grace Henry Iris James Kate Liam Maya Noah Olivia Peter Quinn Rosa Sam Tessa Victor Wendy',
  last: 'Adams Brooks Carter Diaz Ellis Foster Grant Hayes Ivers Jensen Keller Lopez Mason Novak Owens Park Quigley Reyes Shaw Tran Vance Walsh',
}
const german = {
  first:
    'Anna Bernd Clara Dieter Elke Frank Greta Hannes Ines Jonas Katrin Lukas Miriam Nils Petra Ralf Sabine Tobias Ulrike Volker',
  last: 'Albrecht Brandt Conrad Dietz Engel Fischer Graf Hartmann Jung Köhler Lorenz Müller Neumann Otto Pohl Richter Schäfer Thiel Vogel Weiß',
}
const arabic: readonly Person[] = [
  { first: 'ليلى', last: 'حداد', username: 'layla.haddad' },
  { first: 'عمر', last: 'منصور', username: 'omar.mansour' },
  { first: 'نور', last: 'الخطيب', username: 'nour.alkhatib' },
  { first: 'سامي', last: 'درويش', username: 'sami.darwish' },
  { first: 'هناء', last: 'يوسف', username: 'hanaa.youssef' },
]

export type Tongue = 'en' | 'de' | 'ar'

const plain: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss' }

const asUsername = (first: string, last: string) =>
  `${first}.${last}`.toLowerCase().replace(/[äöüß]/g, (letter) => plain[letter] ?? letter)

const drawn = (chance: Chance, { first, last }: typeof english): Person => {
  const [given, family] = [chance.one(first.split(' ')), chance.one(last.split(' '))]
  return { first: given, last: family, username: asUsername(given, family) }
}

/** People of one company, no two of the same user name. */
export const peopleOf = (chance: Chance, tongue: Tongue, count: number): Person[] => {
  if (tongue === 'ar') return arabic.slice(0, count)
  const found = new Map<string, Person>()
  while (found.size < count) {
    const person = drawn(chance, tongue === 'de' ? german : english)
    found.set(person.username, person)
  }
  return [...found.values()]
}

/** Whoever calls from outside, as their carrier names them. */
export const strangerName = (chance: Chance, tongue: Tongue): string => {
  const { first, last } = drawn(chance, tongue === 'de' ? german : english)
  return `${first} ${last}`
}
