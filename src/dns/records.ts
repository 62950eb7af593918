import type { Answer, DecodedPacket, TxtData } from 'dns-packet'
import { sameName } from './exchange.ts'

const lookedUpTypes = ['A', 'AAAA', 'CNAME', 'MX', 'NAPTR', 'NS', 'SRV', 'TXT'] as const
export type LookedUpType = (typeof lookedUpTypes)[number]

const withoutFinalDot = (name: string) => (name === '.' ? name : name.replace(/\.$/, ''))

/** The pieces of a long text are one text. */
const textOfPieces = (data: TxtData) =>
  Buffer.concat([data].flat().map((piece) => Buffer.from(piece))).toString('utf8')

const preferenceOf = (answer: Answer) => (answer.type === 'MX' ? (answer.data.preference ?? 0) : 0)

/** As in zone files; undefined for another type. */
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
  /** The shortest, with aliases; undefined without records. */
  ttlSeconds: number | undefined
  /** The target of an alias whose records are not in the reply. */
  alias: string | undefined
}

const shortest = (known: number | undefined, answers: readonly Answer[]) => {
  const all = answers.flatMap((answer) => ('ttl' in answer && answer.ttl !== undefined ? [answer.ttl] : []))
  const found = known === undefined ? all : [known, ...all]
  return found.length === 0 ? undefined : Math.min(...found)
}

/** Records of a name and its aliases; other names are ignored. */
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
