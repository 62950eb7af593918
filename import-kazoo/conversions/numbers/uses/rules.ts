// What the numbers of accounts lead to, told by the documents that list them.
import { isObject } from '../../../../src/lib/json.ts'
import { memberOf } from '../../../../src/lib/member.ts'
import type { KazooDocument } from '../../../documents/document.ts'
import { isGone } from '../../../documents/fields.ts'
import { numberOf } from '../rules.ts'

export type Use = 'callflow' | 'trunkstore'

export interface NumberUses {
  /** What lists a number of an account; nothing: nothing does. */
  of(accountId: string, number: string): readonly Use[]
}

const textsIn = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

const didsIn = (fields: unknown): string[] => {
  const servers = memberOf(fields, 'servers')
  return (Array.isArray(servers) ? servers : []).flatMap((server) => {
    const dids = memberOf(server, 'DIDs')
    return isObject(dids) ? Object.keys(dids) : []
  })
}

// Whoever dials less has an extension in mind.
const fewestDigits = 10

/** Phone numbers among what a callflow lists: extensions and words are none. */
const phoneNumberIn = (text: string): string | undefined =>
  text.startsWith('+') || text.replace(/\D/g, '').length >= fewestDigits ? numberOf(text) : undefined

const listedBy = ({ type, fields }: KazooDocument): { use: Use; texts: string[] } | undefined => {
  if (type === 'callflow') return { use: 'callflow', texts: textsIn(fields.numbers) }
  return type === 'sys_info' ? { use: 'trunkstore', texts: didsIn(fields) } : undefined
}

/** The numbers that the documents of an account lead somewhere: [number, what leads there]. */
export const usesIn = (documents: Iterable<KazooDocument>): (readonly [number: string, use: Use])[] => {
  const found: (readonly [string, Use])[] = []
  for (const document of documents) {
    const listed = isGone(document.fields) ? undefined : listedBy(document)
    if (!listed) continue
    for (const text of listed.texts) {
      const number = phoneNumberIn(text)
      if (number !== undefined) found.push([number, listed.use])
    }
  }
  return found
}

/** The same of many accounts, to be asked. */
export const createUses = (): NumberUses & {
  add(accountId: string, found: Iterable<readonly [number: string, use: Use]>): void
} => {
  const uses = new Map<string, readonly Use[]>()
  const keyOf = (accountId: string, number: string) => `${accountId}${number}`
  return {
    add(accountId, found) {
      for (const [number, use] of found) {
        const key = keyOf(accountId, number)
        const known = uses.get(key) ?? []
        if (!known.includes(use)) uses.set(key, [...known, use])
      }
    },
    of: (accountId, number) => uses.get(keyOf(accountId, number)) ?? [],
  }
}
