import { systemClock } from '../../lib/clock.ts'
import { memberOf } from '../../lib/member.ts'
import type { Identity, Phone } from '../media-switch.ts'
import { type Edge, EdgeRefusal, forEachFew } from './edges.ts'

const table = 'location'

// A look-up is fast at the edge: most of the time is network latency.
const maxConcurrentLookups = 8

const placeOf = ({ username, realm }: Identity) =>
  username === undefined ? undefined : `${username}@${realm}`.toLowerCase()

export const textIn = (fields: unknown, name: string) => {
  const value = memberOf(fields, name)
  return typeof value === 'string' && value !== '' && value !== '[not set]' ? value : undefined
}

const numberIn = (fields: unknown, name: string) => {
  const value = memberOf(fields, name)
  return typeof value === 'number' ? value : 0
}

const contactOf = (phone: Phone, at: Edge, fields: unknown) => {
  const contact = textIn(fields, 'Address')
  if (contact === undefined) return undefined
  return {
    phone,
    /** SIP address that the phone stated. */
    contact,
    /** SIP address that the edge saw, if it differs. */
    received: textIn(fields, 'Received'),
    userAgent: textIn(fields, 'User-Agent'),
    callId: textIn(fields, 'Call-ID') ?? '',
    expiresSeconds: numberIn(fields, 'Expires'),
    /** Unix seconds of the last REGISTER. */
    registeredAt: numberIn(fields, 'Last-Modified'),
    /** The edge's socket: `udp:192.0.2.1:5060`. */
    socket: textIn(fields, 'Socket'),
    /** As in a Route header. */
    path: textIn(fields, 'Path'),
    at,
  }
}

/** A registration, with what the edge needs to send something there. */
export type Contact = NonNullable<ReturnType<typeof contactOf>>

/** The answer of `ul.lookup`: `{ Contacts: [{ Contact: { Address, ... } }] }`. */
const contactsIn = (phone: Phone, at: Edge, answer: unknown): Contact[] => {
  const listed = memberOf(answer, 'Contacts')
  return (Array.isArray(listed) ? listed : []).flatMap(
    (one: unknown) => contactOf(phone, at, memberOf(one, 'Contact')) ?? [],
  )
}

// The edge has no code for it.
const isUnknown = (error: unknown) =>
  error instanceof EdgeRefusal && /^AOR (not found|has no contacts)/.test(error.message)

const lookUp = async (edge: Edge, phone: Phone, place: string, timeoutMs: number) =>
  contactsIn(
    phone,
    edge,
    await edge.ask('ul.lookup', [table, place], timeoutMs).catch((error) => {
      if (!isUnknown(error)) throw error
    }),
  )

const leftOf = (deadline: number) => Math.max(1, Math.ceil(deadline - performance.now()))

const placed = <Named extends Identity>(phones: readonly Named[]) =>
  phones.flatMap((phone) => {
    const place = placeOf(phone)
    return place === undefined ? [] : [{ phone, place }]
  })

/**
 * The contacts of phones at one edge. Each phone is looked up: the edge has no list by account, and a list of
 * everything would grow with all accounts.
 */
export const contactsAt = async (
  edge: Edge,
  phones: readonly Phone[],
  timeoutMs: number,
): Promise<Contact[]> => {
  const deadline = performance.now() + timeoutMs
  const found: Contact[] = []
  await forEachFew(placed(phones), maxConcurrentLookups, async ({ phone, place }) => {
    found.push(...(await lookUp(edge, phone, place, leftOf(deadline))))
  })
  return found
}

// Edges store 32-bit numbers.
const largest = 2 ** 31 - 1

/**
 * Makes one edge ask again about the realms of phones. Otherwise it would register them again from its memory.
 * The generation has a separate name: answers that the edge fetches later have the generation of their realm.
 */
const outdateAt = async (edge: Edge, phones: readonly Identity[], timeoutMs: number) => {
  const generation = systemClock.now() % largest
  for (const realm of new Set(phones.map((phone) => phone.realm.toLowerCase())))
    await edge.ask('htable.seti', ['generations', `ended/${realm}`, generation], timeoutMs).catch((error) => {
      if (!(error instanceof EdgeRefusal)) throw error
    })
}

export const removeRegistration = async (edge: Edge, phones: readonly Identity[], timeoutMs: number) => {
  const deadline = performance.now() + timeoutMs
  await outdateAt(edge, phones, timeoutMs)
  await forEachFew(placed(phones), maxConcurrentLookups, async ({ place }) => {
    await edge.ask('ul.rm', [table, place], leftOf(deadline))
  })
}
