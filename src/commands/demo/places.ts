/** A city, and numbers of it that regulators keep for stories: nobody has them. */
export interface Place {
  city: string
  country: string
  region: string
  /** Numbers are this, and behind it an index of so many digits. */
  prefix: string
  digits: number
  from: number
  lata: string
  latitude: string
  longitude: string
}

const inStates = { country: 'US', digits: 4, from: 100 }
const inGermany = { country: 'DE', digits: 3, from: 0, lata: '' }

export const places = {
  sanFrancisco: {
    ...inStates,
    city: 'San Francisco',
    region: 'CA',
    prefix: '+1415555',
    lata: '722',
    latitude: '37.7749',
    longitude: '-122.4194',
  },
  seattle: {
    ...inStates,
    city: 'Seattle',
    region: 'WA',
    prefix: '+1206555',
    lata: '674',
    latitude: '47.6062',
    longitude: '-122.3321',
  },
  portland: {
    ...inStates,
    city: 'Portland',
    region: 'OR',
    prefix: '+1503555',
    lata: '672',
    latitude: '45.5152',
    longitude: '-122.6784',
  },
  chicago: {
    ...inStates,
    city: 'Chicago',
    region: 'IL',
    prefix: '+1312555',
    lata: '358',
    latitude: '41.8781',
    longitude: '-87.6298',
  },
  newYork: {
    ...inStates,
    city: 'New York',
    region: 'NY',
    prefix: '+1212555',
    lata: '132',
    latitude: '40.7128',
    longitude: '-74.0060',
  },
  berlin: {
    ...inGermany,
    city: 'Berlin',
    region: 'BE',
    prefix: '+493023125',
    latitude: '52.5200',
    longitude: '13.4050',
  },
  hamburg: {
    ...inGermany,
    city: 'Hamburg',
    region: 'HH',
    prefix: '+494066969',
    latitude: '53.5511',
    longitude: '9.9937',
  },
  munich: {
    ...inGermany,
    city: 'München',
    region: 'BY',
    prefix: '+498999998',
    latitude: '48.1351',
    longitude: '11.5820',
  },
} as const satisfies Record<string, Place>

/** How many numbers of each city there are to buy. */
export const numbersInStock = 60

export const numberOf = ({ prefix, digits, from }: Place, index: number) =>
  `${prefix}${String(from + index).padStart(digits, '0')}`
