import type { Answer, DecodedPacket, TxtData } from 'dns-packet'
import { sameName } from './exchange.ts'

/** What is looked up. Other types have no text form here. */
const lookedUpTypes = ['A', 'AAAA', 'CNAME', 'MX', 'NAPTR', 'NS', 'SRV', 'TXT'] as const
export type LookedUpType = (typeof lookedUpTypes)[number]

const withoutFinalDot = (name: string) => (name === '.' ? name : name.replace(/\.$/, ''))

/** The pieces of a long text are one text. */
const textOfPieces = (data: TxtData) =>
  Buffer.concat([data].flat().map((piece) => Buffer.from(piece))).toString('utf8')

const preferenceOf = (answer: Answer) => (answer.type === 'MX' ? (answer.data.preference ?? 0) : 0)

/** A record as people write it; undefined when it has another type. */
const recordText = (answer: Answer, wanted: LookedUpType): string | undefined => {
  if (answer.type !== wanted) return undefined
  switch (answer.type) {
    case 'A':
    case 'AAAA':
      return answer.data
    case 'CNAME':
    case 'NS':
      return withoutFinalDot(answer.data)
    case 'MX':
      return withoutFinalDot(answer.data.exchange)
    case 'SRV': {
      const { priority = 0, weight = 0, port, target } = answer.data
      return `${priority} ${weight} ${port} ${withoutFinalDot(target)}`
    }
    case 'NAPTR': {
      const { order, preference, flags, services, regexp, replacement } = answer.data
      const quoted = [flags.toUpperCase(), services.toUpperCase(), regexp].map((part) => `"${part}"`)
      return `${order} ${preference} ${quoted.join(' ')} ${withoutFinalDot(replacement)}`
    }
    case 'TXT':
      return textOfPieces(answer.data)
    default:
      return undefined
  }
}

// More of one name and type is no set-up that anybody reads.
const maxRecords = 100
const longestChain = 16

const aliasOf = (answers: readonly Answer[], name: string) => {
  for (const answer of answers) {
    if (answer.type === 'CNAME' && sameName(answer.name, name)) return withoutFinalDot(answer.data)
  }
  return undefined
}

interface NameRecords {
  records: string[]
  /** Seconds that all of it holds, aliases included; undefined when there is nothing. */
  ttlSeconds: number | undefined
  /** Where an alias leads to, when the answer does not say what is there. */
  alias: string | undefined
}

const shortest = (known: number | undefined, answers: readonly Answer[]) => {
  const all = answers.flatMap((answer) => ('ttl' in answer && answer.ttl !== undefined ? [answer.ttl] : []))
  const found = known === undefined ? all : [known, ...all]
  return found.length === 0 ? undefined : Math.min(...found)
}

/** What an answer says about a name: along its aliases, and nothing about other names. */
export const recordsIn = ({ answers = [] }: DecodedPacket, name: string, type: LookedUpType): NameRecords => {
  let owner = name
  let ttlSeconds: number | undefined
  for (let step = 0; step < longestChain; step += 1) {
    const own = answers.filter((answer) => sameName(answer.name, owner))
    ttlSeconds = shortest(ttlSeconds, own)
    const records = own
      .toSorted((a, b) => preferenceOf(a) - preferenceOf(b))
      .flatMap((answer) => recordText(answer, type) ?? [])
      .slice(0, maxRecords)
    if (records.length > 0) return { records, ttlSeconds, alias: undefined }
    const next = aliasOf(answers, owner)
    if (next === undefined) break
    owner = next
  }
  return { records: [], ttlSeconds, alias: owner === name ? undefined : owner }
}
