import type { UserDoc } from '../../../auth/identity.ts'
import { memberOf } from '../../../lib/member.ts'
import { maskUrls } from '../../../lib/secrets.ts'
import type { Image } from './photo.ts'

// vCard 3.0: RFC 2426.

interface Address {
  address?: unknown
  types?: unknown
}

interface Profile {
  addresses?: readonly Address[]
  birthday?: string
  nicknames?: readonly string[]
  note?: string
  role?: string
  'sort-string'?: string
  title?: string
}

const maxOctets = 75

/** Commas, semicolons and backslashes carry meaning; a line break is written as `\n`, other controls are left out. */
const escaped = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n|\r|\n/g, '\\n')
    .replace(/\p{Cc}/gu, '')

/** Lines longer than 75 octets go on after a line break and a space; no letter is cut in two. */
const folded = (line: string) => {
  const parts: string[] = []
  let part = ''
  let octets = 0
  for (const letter of line) {
    const size = Buffer.byteLength(letter)
    if (octets + size > maxOctets) {
      parts.push(part)
      part = ''
      octets = 1
    }
    part += letter
    octets += size
  }
  return [...parts, part].join('\r\n ')
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const property = (name: string, value: unknown) => (isText(value) ? [`${name}:${escaped(value)}`] : [])

/** Types are parameters, where hardly anything may stand. */
const typeParameter = (types: unknown) => {
  const words = (Array.isArray(types) ? types : []).filter((type) => /^[\w-]{1,20}$/.test(String(type)))
  return words.length > 0 ? `;TYPE=${words.join(',')}` : ''
}

const addressLines = (addresses: unknown) =>
  (Array.isArray(addresses) ? addresses : []).flatMap(({ address, types }: Address) =>
    isText(address) ? [`ADR${typeParameter(types)}:;;${escaped(address)};;;;`] : [],
  )

const photoLine = ({ contentType, bytes }: Image) => {
  const kind = (contentType.split('/')[1] ?? '').toUpperCase()
  return `PHOTO;ENCODING=b;TYPE=${kind}:${bytes.toString('base64')}`
}

const listLine = (name: string, values: unknown) => {
  const texts = (Array.isArray(values) ? values : []).filter(isText)
  return texts.length > 0 ? [`${name}:${texts.map(escaped).join(',')}`] : []
}

const externalNumber = (doc: UserDoc) => memberOf(doc.caller_id, 'external', 'number')

/** A user as an address book reads it. */
export const vcardOf = (doc: UserDoc, organisation: string, photo: Image | undefined) => {
  const profile: Profile = doc.profile ?? {}
  const cards = memberOf(doc.addresses, 'vcard')
  const lines = [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:${escaped(doc.last_name)};${escaped(doc.first_name)};;;`,
    `FN:${escaped(`${doc.first_name} ${doc.last_name}`)}`,
    ...property('ORG', organisation),
    ...property('EMAIL', doc.email),
    ...property('TEL', externalNumber(doc)),
    ...addressLines(profile.addresses),
    ...addressLines(cards),
    ...listLine('NICKNAME', profile.nicknames),
    ...property('BDAY', profile.birthday),
    ...property('TITLE', profile.title),
    ...property('ROLE', profile.role),
    ...property('NOTE', profile.note),
    ...property('SORT-STRING', profile['sort-string']),
    ...(photo ? [photoLine(photo)] : []),
    'END:VCARD',
  ]
  return `${lines.map((line) => folded(maskUrls(line))).join('\r\n')}\r\n`
}
