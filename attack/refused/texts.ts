// Bodies, texts and heads that no request may have.
import type { Chance } from '../../test/fuzz/chance.ts'
import type { Persona } from '../model.ts'
import type { WireRequest } from '../wire.ts'
import { type Asked, asJson, ask, homeOf, isAnyone, type RefusedClass, write } from './asked.ts'

const formType = 'application/x-www-form-urlencoded'

const controls = ['\r\n', '\n', '\t', '\u0007', '\u007f', '\u0085', '\u2028']

/** Fields of one line: each reaches a SIP message, a mail header, a file name or a log. */
const lines: readonly ((asked: Asked, text: string) => WireRequest)[] = [
  (asked, text) =>
    write(asked, 'users', asked.persona.home.ids.user_id, { first_name: text, last_name: 'B' }),
  (asked, text) =>
    write(asked, 'users', asked.persona.home.ids.user_id, { first_name: 'A', last_name: text }),
  (asked, text) => {
    const caller_id = {
      [asked.chance.pick(['internal', 'external', 'emergency', 'asserted'])]: { name: text },
    }
    return write(asked, 'users', asked.persona.home.ids.user_id, {
      first_name: 'A',
      last_name: 'B',
      caller_id,
    })
  },
  (asked, text) => write(asked, 'devices', asked.persona.home.ids.device_id, { name: text }),
  (asked, text) =>
    write(asked, 'devices', asked.persona.home.ids.device_id, {
      name: 'x',
      sip: { custom_sip_headers: { in: { 'X-A': text } } },
    }),
  (asked, text) => {
    const caller_id = { [asked.chance.pick(['internal', 'external', 'emergency'])]: { number: text } }
    return write(asked, 'devices', asked.persona.home.ids.device_id, { name: 'x', caller_id })
  },
  (asked, text) =>
    write(asked, 'callflows', undefined, { name: text, numbers: [], flow: { module: 'user', data: {} } }),
  (asked, text) =>
    write(asked, 'webhooks', asked.persona.home.ids.webhook_id, {
      name: text,
      uri: 'https://receiver.invalid/',
      hook: 'all',
    }),
  (asked, text) =>
    write(asked, 'resources', undefined, {
      name: 'x',
      gateways: [{ server: 'sip.carrier.example', username: text }],
    }),
  (asked, text) => asJson(asked.persona, 'PATCH', homeOf(asked.persona), { name: text }),
  (asked, text) =>
    asJson(asked.persona, 'POST', `${homeOf(asked.persona)}/whitelabel`, { company_name: text }),
]

export const controlCharacters: RefusedClass = {
  title: 'a control character in a line of text',
  isFor: isAnyone,
  make: (asked) =>
    asked.chance.pick(lines)(asked, `a${asked.chance.pick(controls)}Remote-Party-ID: <sip:b@c>`),
}

const keysOf = (chance: Chance, count: number, one: (index: number) => string) => {
  const from = chance.below(1e6)
  return Array.from({ length: count }, (_, index) => one(from + index))
}

export const manyKeys: RefusedClass = {
  title: 'more keys than a record may have',
  oneIn: 50,
  isFor: isAnyone,
  make({ chance, persona }) {
    const path = `${homeOf(persona)}/${chance.pick(['devices', 'users', 'webhooks', 'callflows'])}`
    const count = 25_000 + chance.below(65_000)
    const json = () => `{"data":{"name":"x",${keysOf(chance, count, (key) => `"k${key}":1`).join(',')}}}`
    const [type, text] = chance.pick([
      () => ['application/json', json()] as const,
      // Clients such as curl name this type for any body.
      () => [formType, json()] as const,
      () => [formType, `name=x&${keysOf(chance, count, (key) => `k${key}=1`).join('&')}`] as const,
    ])()
    return {
      method: 'PUT',
      path,
      headers: { ...persona.headers, 'content-type': type },
      body: Buffer.from(text),
    }
  },
}

const badBytes = ['\xff', '\xc3(', '\xe2\x82', '\xed\xa0\x80', '\xf8\x88\x80\x80\x80', 'B\xfcro']
const otherCharsets = ['ISO-8859-1', 'iso-8859-15', 'utf-16', 'windows-1252']
const inexact = ['9007199254740993', '-9007199254740993', '12345678901234567890', '[1,9007199254740992]']

const percent = (bytes: string) => Buffer.from(bytes, 'latin1').toString('hex').replace(/../g, '%$&')

const partOf = (head: string, bytes: string) =>
  `--x\r\ncontent-disposition: form-data; name="name"${head}\r\n\r\n${bytes}\r\n--x--`

interface Encoded {
  chance: Chance
  bytes: string
  persona: Persona
  path: string
}

const encodedBodies: readonly ((encoded: Encoded) => readonly [type: string, body: string])[] = [
  ({ bytes }) => ['application/json', `{"data":{"name":"${bytes}"}}`],
  ({ bytes }) => ['application/json', `{"data":{"name":"Desk","${bytes}":1}}`],
  ({ bytes }) => [formType, `{"data":{"name":"${bytes}"}}`],
  ({ chance }) => [`application/json; charset=${chance.pick(otherCharsets)}`, '{"data":{"name":"Desk"}}'],
  ({ chance }) => [`${formType}; charset=${chance.pick(otherCharsets)}`, 'name=Desk'],
  ({ chance }) => [
    'multipart/form-data; boundary=x',
    partOf(`\r\ncontent-type: text/plain; charset=${chance.pick(otherCharsets)}`, 'Desk'),
  ],
  ({ bytes }) => ['multipart/form-data; boundary=x', partOf('', bytes)],
  ({ bytes }) => [formType, `name=${bytes}`],
  ({ bytes }) => [formType, `name=${percent(bytes)}`],
  ({ bytes }) => [formType, `name=Desk&${percent(bytes)}=1`],
  ({ chance }) => ['application/json', `{"data":{"name":"Desk","custom":${chance.pick(inexact)}}}`],
  ({ chance }) => ['application/json', `{"data":{"name":"Desk"},"custom":${chance.pick(inexact)}}`],
]

const encodedQueries: readonly ((encoded: Encoded) => string)[] = [
  ({ bytes, path }) => `${path}?filter_name=${percent(bytes)}`,
  ({ bytes, path }) => `${path}?filter_${percent(bytes)}=a`,
  ({ bytes, path }) => `${path}?filter_name=${bytes.replace(/[^\x21-\xff]/g, '')}`,
]

export const encodings: RefusedClass = {
  title: 'a text that is not UTF-8, or an integer that JSON cannot hold exactly',
  isFor: isAnyone,
  make({ chance, persona }) {
    const path = `${homeOf(persona)}/devices`
    const encoded = { chance, persona, path, bytes: chance.pick(badBytes) }
    if (chance.once(4)) return ask(persona, 'GET', chance.pick(encodedQueries)(encoded))
    const [type, body] = chance.pick(encodedBodies)(encoded)
    return {
      method: 'PUT',
      path,
      headers: { ...persona.headers, 'content-type': type },
      body: Buffer.from(body, 'latin1'),
    }
  },
}

const hostLists: readonly (readonly string[])[] = [
  ['attack.test', 'other.test'],
  ['attack.test', 'attack.test'],
  ['a b'],
  ['a/b'],
  ['user@attack.test'],
  ['[::1'],
  ['attack.test:port'],
  ['attack.test:123456'],
  [],
]

export const hosts: RefusedClass = {
  title: 'two Host headers, a malformed one or none',
  isFor: isAnyone,
  make({ chance, persona }) {
    const hosts = chance.pick(hostLists)
    if (chance.once(2)) return { ...ask(persona, 'GET', homeOf(persona)), hosts }
    return { ...asJson(persona, 'PUT', `${homeOf(persona)}/devices`, { name: 'Desk' }), hosts }
  },
}
