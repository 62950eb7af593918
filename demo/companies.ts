import type { CallVolume } from './calls.ts'
import type { Tongue } from './people.ts'

/** A city, and numbers of it that regulators reserve for fiction. */
export interface Place {
  city: string
  country: 'US' | 'DE'
  region: string
  timezone: string
  prefix: string
  lata: string
  latitude: string
  longitude: string
}

type City = readonly [
  city: string,
  region: string,
  timezone: string,
  prefix: string,
  lata: string,
  at: string,
]

const placeOf = (country: Place['country'], [city, region, timezone, prefix, lata, at]: City): Place => {
  const [latitude = '', longitude = ''] = at.split(' ')
  return { country, city, region, timezone, prefix, lata, latitude, longitude }
}

const pacific = 'America/Los_Angeles'
const german = 'Europe/Berlin'

export const places = {
  sanFrancisco: placeOf('US', ['San Francisco', 'CA', pacific, '+1415555', '722', '37.7749 -122.4194']),
  seattle: placeOf('US', ['Seattle', 'WA', pacific, '+1206555', '674', '47.6062 -122.3321']),
  portland: placeOf('US', ['Portland', 'OR', pacific, '+1503555', '672', '45.5152 -122.6784']),
  chicago: placeOf('US', ['Chicago', 'IL', 'America/Chicago', '+1312555', '358', '41.8781 -87.6298']),
  newYork: placeOf('US', ['New York', 'NY', 'America/New_York', '+1212555', '132', '40.7128 -74.0060']),
  berlin: placeOf('DE', ['Berlin', 'BE', german, '+493023125', '', '52.5200 13.4050']),
  hamburg: placeOf('DE', ['Hamburg', 'HH', german, '+494066969', '', '53.5511 9.9937']),
  munich: placeOf('DE', ['München', 'BY', german, '+498999998', '', '48.1351 11.5820']),
}

/** How many numbers of each city are for sale. */
export const numbersInStock = 60

export const numberOf = ({ prefix, country }: Place, index: number) =>
  country === 'DE'
    ? `${prefix}${String(index).padStart(3, '0')}`
    : `${prefix}${String(index + 100).padStart(4, '0')}`

interface Details {
  plan?: string
  /** Days before the end of the demo, and dollars. */
  topups: Readonly<Record<number, number>>
  tongue?: Tongue
  /** Phones that belong to no person. */
  common?: readonly string[]
  address?: readonly [street: string, postalCode: string]
  /** Days before the end on which the account was disabled. */
  disabledDaysAgo?: number
  branches?: readonly Company[]
}

export interface Company extends Details {
  /** Part of its realm and of its email addresses. */
  slug: string
  name: string
  tongue: Tongue
  place: Place
  volume: CallVolume
  users: number
  /** Its weight when the calls are shared out. */
  calls: number
  numbers: number
}

type Counts = readonly [users: number, calls: number, numbers: number]

const company = (
  [slug, name]: readonly [string, string],
  place: Place,
  volume: CallVolume,
  [users, calls, numbers]: Counts,
  details: Details,
): Company => {
  const tongue = place.country === 'DE' ? 'de' : 'en'
  return { slug, name, tongue, place, volume, users, calls, numbers, ...details }
}

const branch = (slug: string, name: string, counts: Counts) =>
  company([slug, name], places.portland, 'office', counts, { topups: { 59: 50 } })

const meridianBranches = [
  branch('meridian-downtown', 'Meridian Dental Downtown', [4, 6, 2]),
  branch('meridian-eastside', 'Meridian Dental Eastside', [3, 4, 2]),
]

const harborCustomers = [
  company(['lakeside-bakery', 'Lakeside Bakery'], places.seattle, 'shop', [4, 4, 2], {
    plan: 'Corner shop',
    topups: { 59: 100, 31: 80, 3: 60 },
    address: ['12 Harbor Way', '98101'],
  }),
  company(['meridian-dental', 'Meridian Dental Group'], places.portland, 'office', [6, 9, 4], {
    plan: 'Business seats',
    topups: { 59: 400, 24: 300 },
    common: ['Fax'],
    address: ['400 Oak Street', '97201'],
    branches: meridianBranches,
  }),
  company(['cascade-freight', 'Cascade Freight'], places.seattle, 'centre', [22, 34, 10], {
    plan: 'Contact centre',
    topups: { 59: 1500, 29: 1200, 5: 900 },
    common: ['Dock phone', 'Fax', 'Gate'],
    address: ['88 Terminal Road', '98134'],
  }),
  company(['juniper-hotel', 'Juniper Hotel'], places.sanFrancisco, 'hotel', [8, 14, 5], {
    plan: 'Business seats',
    topups: { 59: 500, 28: 400 },
    common: ['Lobby', 'Lift', 'Fax'],
    address: ['1 Pine Plaza', '94108'],
  }),
  company(['pioneer-law', 'Pioneer Law'], places.chicago, 'office', [7, 8, 4], {
    plan: 'Business seats',
    topups: { 59: 450, 30: 300 },
    address: ['233 Lake Street', '60606'],
  }),
  company(['noor-translation', 'مكتب النور للترجمة'], places.newYork, 'office', [5, 4, 2], {
    tongue: 'ar',
    plan: 'Business seats',
    topups: { 58: 250, 26: 120 },
  }),
  company(['old-mill-antiques', 'Old Mill Antiques'], places.portland, 'shop', [3, 2, 1], {
    plan: 'Corner shop',
    topups: { 57: 90 },
    disabledDaysAgo: 12,
  }),
  company(['redwood-outfitters', 'Redwood Outfitters'], places.sanFrancisco, 'shop', [5, 5, 2], {
    plan: 'Business seats',
    topups: { 57: 150 },
  }),
]

const spreeCustomers = [
  company(['baeckerei-morgenrot', 'Bäckerei Morgenrot'], places.berlin, 'shop', [3, 3, 2], {
    plan: 'Telefonanlage',
    topups: { 59: 120, 27: 80 },
  }),
  company(['autohaus-lindner', 'Autohaus Lindner GmbH'], places.hamburg, 'shop', [7, 8, 4], {
    plan: 'Telefonanlage',
    topups: { 59: 300, 25: 200 },
    common: ['Werkstatt', 'Fax'],
  }),
  company(['praxis-sommer', 'Praxis Dr. Sommer'], places.berlin, 'office', [4, 6, 2], {
    plan: 'Telefonanlage',
    topups: { 58: 150, 24: 90 },
  }),
  company(['kanzlei-weidner', 'Kanzlei Weidner & Partner'], places.munich, 'office', [5, 5, 3], {
    plan: 'Telefonanlage',
    topups: { 58: 200, 22: 120 },
  }),
]

interface Plan {
  name: string
  description: string
  category: string
  plan: { devices: object; phone_numbers: object }
}

const vat = { name: 'MwSt.', rate: 19, tax_id: 'mwst', jurisdiction: 'DE' }
const prorate = { additions: true, removals: true }

const harborPlans: readonly Plan[] = [
  {
    name: 'Business seats',
    description: 'A price for each phone, less from the tenth on',
    category: 'Seats',
    plan: {
      devices: {
        _all: { name: 'Seat', as: 'seat', rate: 9, rates: { 9: 12 }, activation_charge: 5, prorate },
      },
      phone_numbers: { did_us: { name: 'US number', rate: 1.5, activation_charge: 1 } },
    },
  },
  {
    name: 'Contact centre',
    description: 'Seats by tier, numbers included up to ten',
    category: 'Seats',
    plan: {
      devices: {
        _all: {
          name: 'Agent',
          as: 'agent',
          rate: 14,
          rates: { 10: 19, 25: 16 },
          discounts: { cumulative: { maximum: 5, rate: 2 } },
          prorate,
        },
      },
      phone_numbers: {
        did_us: { name: 'US number', rate: 1, discounts: { cumulative: { maximum: 10, rate: 1 } } },
      },
    },
  },
  {
    name: 'Corner shop',
    description: 'Two phones and a number for one price',
    category: 'Seats',
    plan: {
      devices: { _all: { name: 'Phone', as: 'phone', rate: 6, flat_rates: { 2: 15 } } },
      phone_numbers: { did_us: { name: 'US number', rate: 2, discounts: { single: { rate: 2 } } } },
    },
  },
]

const spreePlans: readonly Plan[] = [
  {
    name: 'Telefonanlage',
    description: 'Je Nebenstelle, zuzüglich Mehrwertsteuer',
    category: 'Anlage',
    plan: {
      devices: { _all: { name: 'Nebenstelle', as: 'extension', rate: 8.9, prorate, taxes: [vat] } },
      phone_numbers: { _all: { name: 'Rufnummer', rate: 0.9, taxes: [vat] } },
    },
  },
]

/** What resellers pay for their phones and numbers and those of their customers. */
export const wholesale: Plan = {
  name: 'Wholesale',
  description: 'What resellers pay for everything below them',
  category: 'Resale',
  plan: {
    devices: { _all: { name: 'Line', as: 'line', rate: 2.5, cascade: true } },
    phone_numbers: { _all: { name: 'Number', as: 'number', rate: 0.3, cascade: true } },
  },
}

export interface Reseller extends Pick<Company, 'slug' | 'name' | 'tongue' | 'place'> {
  plans: readonly Plan[]
  customers: readonly Company[]
}

export const resellers: readonly Reseller[] = [
  {
    slug: 'harbor-voice',
    name: 'Harbor Voice',
    tongue: 'en',
    place: places.seattle,
    plans: harborPlans,
    customers: harborCustomers,
  },
  {
    slug: 'spree-telefonie',
    name: 'Spree Telefonie',
    tongue: 'de',
    place: places.berlin,
    plans: spreePlans,
    customers: spreeCustomers,
  },
]
