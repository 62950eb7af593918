import type { Tongue } from './people.ts'
import { type Place, places } from './places.ts'
import { harborPlans, type Plan, spreePlans } from './plans.ts'
import type { RhythmName } from './rhythms.ts'

export interface SampleCompany {
  /** Of its realm and its mail addresses. */
  slug: string
  name: string
  tongue: Tongue
  timezone: string
  users: number
  /** How much of all calls is theirs. */
  calls: number
  rhythm: RhythmName
  numbers: number
  /** Which numbers it likes. */
  place: Place
  plan?: string
  /** Dollars, and how many days before the end they were paid in. */
  topups: readonly (readonly [daysAgo: number, dollars: number])[]
  /** So many days before the end somebody closed it. */
  disabledDaysAgo?: number
  below?: readonly SampleCompany[]
  common?: readonly string[]
  address?: readonly [street: string, city: string, region: string, postalCode: string]
}

export interface Reseller {
  slug: string
  name: string
  tongue: Tongue
  timezone: string
  plans: readonly Plan[]
  customers: readonly SampleCompany[]
}

const us = { tongue: 'en', timezone: 'America/Los_Angeles' } as const
const de = { tongue: 'de', timezone: 'Europe/Berlin', plan: 'Telefonanlage' } as const

const harborCustomers: readonly SampleCompany[] = [
  {
    ...us,
    slug: 'lakeside-bakery',
    name: 'Lakeside Bakery',
    users: 4,
    calls: 4,
    rhythm: 'shop',
    numbers: 2,
    place: places.seattle,
    plan: 'Corner shop',
    topups: [
      [59, 100],
      [31, 80],
      [3, 60],
    ],
    address: ['12 Harbor Way', 'Seattle', 'WA', '98101'],
  },
  {
    ...us,
    slug: 'meridian-dental',
    name: 'Meridian Dental Group',
    users: 6,
    calls: 9,
    rhythm: 'office',
    numbers: 4,
    place: places.portland,
    plan: 'Business seats',
    topups: [
      [59, 400],
      [24, 300],
    ],
    common: ['Fax'],
    address: ['400 Oak Street', 'Portland', 'OR', '97201'],
    below: [
      {
        ...us,
        slug: 'meridian-downtown',
        name: 'Meridian Dental Downtown',
        users: 4,
        calls: 6,
        rhythm: 'office',
        numbers: 2,
        place: places.portland,
        topups: [[59, 50]],
      },
      {
        ...us,
        slug: 'meridian-eastside',
        name: 'Meridian Dental Eastside',
        users: 3,
        calls: 4,
        rhythm: 'office',
        numbers: 2,
        place: places.portland,
        topups: [[59, 50]],
      },
    ],
  },
  {
    ...us,
    slug: 'cascade-freight',
    name: 'Cascade Freight',
    users: 22,
    calls: 34,
    rhythm: 'centre',
    numbers: 10,
    place: places.seattle,
    plan: 'Contact centre',
    topups: [
      [59, 1500],
      [29, 1200],
      [5, 900],
    ],
    common: ['Dock phone', 'Fax', 'Gate'],
    address: ['88 Terminal Road', 'Seattle', 'WA', '98134'],
  },
  {
    ...us,
    slug: 'juniper-hotel',
    name: 'Juniper Hotel',
    users: 8,
    calls: 14,
    rhythm: 'hotel',
    numbers: 5,
    place: places.sanFrancisco,
    plan: 'Business seats',
    topups: [
      [59, 500],
      [28, 400],
    ],
    common: ['Lobby', 'Lift', 'Fax'],
    address: ['1 Pine Plaza', 'San Francisco', 'CA', '94108'],
  },
  {
    ...us,
    slug: 'pioneer-law',
    name: 'Pioneer Law',
    timezone: 'America/Chicago',
    users: 7,
    calls: 8,
    rhythm: 'office',
    numbers: 4,
    place: places.chicago,
    plan: 'Business seats',
    topups: [
      [59, 450],
      [30, 300],
    ],
    address: ['233 Lake Street', 'Chicago', 'IL', '60606'],
  },
  {
    slug: 'noor-translation',
    name: 'مكتب النور للترجمة',
    tongue: 'ar',
    timezone: 'America/New_York',
    users: 5,
    calls: 4,
    rhythm: 'office',
    numbers: 2,
    place: places.newYork,
    plan: 'Business seats',
    topups: [
      [58, 250],
      [26, 120],
    ],
  },
  {
    ...us,
    slug: 'old-mill-antiques',
    name: 'Old Mill Antiques',
    users: 3,
    calls: 2,
    rhythm: 'shop',
    numbers: 1,
    place: places.portland,
    plan: 'Corner shop',
    topups: [[57, 90]],
    disabledDaysAgo: 12,
  },
  {
    ...us,
    slug: 'redwood-outfitters',
    name: 'Redwood Outfitters',
    users: 5,
    calls: 5,
    rhythm: 'shop',
    numbers: 2,
    place: places.sanFrancisco,
    plan: 'Business seats',
    topups: [[57, 150]],
  },
]

const spreeCustomers: readonly SampleCompany[] = [
  {
    ...de,
    slug: 'baeckerei-morgenrot',
    name: 'Bäckerei Morgenrot',
    users: 3,
    calls: 3,
    rhythm: 'shop',
    numbers: 2,
    place: places.berlin,
    topups: [
      [59, 120],
      [27, 80],
    ],
  },
  {
    ...de,
    slug: 'autohaus-lindner',
    name: 'Autohaus Lindner GmbH',
    users: 7,
    calls: 8,
    rhythm: 'shop',
    numbers: 4,
    place: places.hamburg,
    topups: [
      [59, 300],
      [25, 200],
    ],
    common: ['Werkstatt', 'Fax'],
  },
  {
    ...de,
    slug: 'praxis-sommer',
    name: 'Praxis Dr. Sommer',
    users: 4,
    calls: 6,
    rhythm: 'office',
    numbers: 2,
    place: places.berlin,
    topups: [
      [58, 150],
      [24, 90],
    ],
  },
  {
    ...de,
    slug: 'kanzlei-weidner',
    name: 'Kanzlei Weidner & Partner',
    users: 5,
    calls: 5,
    rhythm: 'office',
    numbers: 3,
    place: places.munich,
    topups: [
      [58, 200],
      [22, 120],
    ],
  },
]

export const resellers: readonly Reseller[] = [
  {
    slug: 'harbor-voice',
    name: 'Harbor Voice',
    tongue: 'en',
    timezone: 'America/Los_Angeles',
    plans: harborPlans,
    customers: harborCustomers,
  },
  {
    slug: 'spree-telefonie',
    name: 'Spree Telefonie',
    tongue: 'de',
    timezone: 'Europe/Berlin',
    plans: spreePlans,
    customers: spreeCustomers,
  },
]

/** Where somebody of the story gets mail: no server hands anything on to such a name. */
export const emailOf = ({ username }: { username: string }, { slug }: { slug: string }) =>
  `${username}@${slug}.invalid`

/** Domain of what everybody of the story is called: it never leads anywhere. */
export const domainOf = ({ slug }: { slug: string }) => `${slug}.example.com`

export const languages: Readonly<Record<Tongue, string>> = { en: 'en-US', de: 'de-DE', ar: 'ar-AE' }
