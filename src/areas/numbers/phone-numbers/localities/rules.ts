import { searchKey } from '../../../../lib/search-key.ts'
import { e164Prefix, isCountry, nationalPrefix } from '../dial-code.ts'

/** Place of the numbers with a prefix. Unknown texts are empty. */
export interface Locality {
  /** E.164 with the plus. */
  prefix: string
  country: string
  region: string
  city: string
  rateCenter: string
  lata: string
  latitude: string
  longitude: string
}

export const localityColumns = [
  'prefix',
  'country',
  'region',
  'city',
  'rate_center',
  'lata',
  'latitude',
  'longitude',
] as const
type LocalityColumn = (typeof localityColumns)[number]

type LocalityCells = readonly (string | undefined)[]

/** The place of each column; a text is the error. */
export const localityPlacesIn = (header: LocalityCells): ReadonlyMap<LocalityColumn, number> | string => {
  const names = header.map((cell) => (cell ?? '').trim().toLowerCase())
  const missing = localityColumns.filter((column) => !names.includes(column))
  if (missing.length > 0) return `the header has no column ${missing.join(', ')}`
  const columns: readonly string[] = localityColumns
  const strange = names.find((name, at) => !columns.includes(name) || names.indexOf(name) !== at)
  if (strange !== undefined) return `the header has an unknown column '${strange}'`
  return new Map(localityColumns.map((column) => [column, names.indexOf(column)]))
}

const maxCellLength = 200

const isCoordinate = (text: string, limit: number) =>
  text === '' || (/^[+-]?\d{1,3}(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= limit)

/** A text is the error. */
export const localityIn = (
  cells: LocalityCells,
  places: ReadonlyMap<LocalityColumn, number>,
): Locality | string => {
  if (cells.length !== places.size) return `has ${cells.length} cells instead of ${places.size}`
  const cell = (column: LocalityColumn) => (cells[places.get(column) ?? -1] ?? '').trim()
  const country = cell('country').toUpperCase()
  if (!isCountry(country)) return `country '${country.slice(0, 20)}' is unknown`
  const prefix = e164Prefix(cell('prefix').replace(/[ ().-]/g, ''), country) ?? ''
  if (!/^\+[1-9]\d{0,14}$/.test(prefix))
    return `prefix '${cell('prefix').slice(0, 30)}': is not the beginning of a number`
  if (!isCoordinate(cell('latitude'), 90)) return 'the latitude is not within -90 and 90'
  if (!isCoordinate(cell('longitude'), 180)) return 'the longitude is not within -180 and 180'
  const tooLong = localityColumns.find(
    (column) => cell(column).length > maxCellLength || cell(column).includes('\0'),
  )
  if (tooLong) return `${tooLong} is longer than ${maxCellLength} characters or no text`
  return {
    prefix,
    country,
    region: cell('region'),
    city: cell('city'),
    rateCenter: cell('rate_center'),
    lata: cell('lata'),
    latitude: cell('latitude'),
    longitude: cell('longitude'),
  }
}

export const cityKey = (city: string) => searchKey(city)

/** Longest first. */
export const prefixesOf = (number: string, lengths: readonly number[]) =>
  lengths
    .toSorted((a, b) => b - a)
    .flatMap((length) => (length <= number.length ? [number.slice(0, length)] : []))

export type CityRow = Pick<Locality, 'city' | 'region' | 'prefix' | 'country'>

export interface City {
  state: string
  /** National digits; in North America the area code. */
  prefixes: string[]
}

const areaCodeDigits = 3

const searchedBy = ({ prefix, country }: CityRow) => {
  const national = nationalPrefix(prefix, country)
  return prefix.startsWith('+1') ? national.slice(0, areaCodeDigits) : national
}

/** Cities by name, with the region where several have the name. */
export const citiesOf = (rows: readonly CityRow[]): Record<string, City> => {
  const regions = new Map<string, Set<string>>()
  for (const { city, region } of rows) {
    const seen = regions.get(city) ?? new Set()
    regions.set(city, seen.add(region))
  }
  const cities = new Map<string, City>()
  for (const row of rows) {
    const name = regions.get(row.city)?.size === 1 ? row.city : `${row.city}, ${row.region}`
    const city = cities.get(name) ?? { state: row.region, prefixes: [] }
    const prefix = searchedBy(row)
    if (prefix !== '' && !city.prefixes.includes(prefix)) city.prefixes.push(prefix)
    cities.set(name, city)
  }
  return Object.fromEntries(cities)
}
