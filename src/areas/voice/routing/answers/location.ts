// Where an emergency call comes from, as emergency services read it: PIDF-LO (RFC 4119) with a civic address (RFC 5139).
import type { E911 } from '../../../numbers/phone-numbers/schema.ts'

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const xml = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character] ?? '')

const civic = (name: string, text: string | undefined) =>
  text ? `<ca:${name}>${xml(text)}</ca:${name}>` : ''

const pointOf = ({ latitude, longitude }: E911) =>
  latitude && longitude
    ? `<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>${xml(`${latitude} ${longitude}`)}</gml:pos></gml:Point>`
    : ''

const namespaces = [
  'xmlns="urn:ietf:params:xml:ns:pidf"',
  'xmlns:gp="urn:ietf:params:xml:ns:pidf:geopriv10"',
  'xmlns:ca="urn:ietf:params:xml:ns:pidf:geopriv10:civicAddr"',
  'xmlns:gml="http://www.opengis.net/gml"',
].join(' ')

/** The registered address of a number. The house number is in the road: `street_address` has both. */
export const locationOf = (number: string, address: E911): string => {
  const { country = 'US', region, locality, street_address, extended_address, postal_code } = address
  const parts = [
    civic('country', country.toUpperCase()),
    civic('A1', region),
    civic('A3', locality),
    civic('RD', street_address),
    civic('LOC', extended_address),
    civic('NAM', address.caller_name),
    civic('PC', postal_code),
  ]
  const place = `<gp:location-info>${pointOf(address)}<ca:civicAddress>${parts.join('')}</ca:civicAddress></gp:location-info>`
  const status = `<status><gp:geopriv>${place}<gp:usage-rules/></gp:geopriv></status>`
  return `<?xml version="1.0" encoding="UTF-8"?><presence ${namespaces} entity="tel:${xml(number)}"><tuple id="location">${status}</tuple></presence>`
}
