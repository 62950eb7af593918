import type { Store } from '../../../storage/store.ts'
import type { CdrRow } from './columns.ts'
import { createParams, inPartSql, legOrder, monthsOf, type Scope } from './parts.sql.ts'
import type { CdrStore } from './store.ts'

interface SummaryGroup {
  direction: 'inbound' | 'outbound'
  domain: string
  rate_name: string | null
  /** The called number: its beginning, its length, and whether it has only digits after an optional plus. */
  prefix: string
  length: number
  is_number: number
  seconds: number
}

export const prefixLength = 5

const isSummarized = ({ loopback_leg, call_direction, authorizing_id, resource_id }: CdrRow) =>
  loopback_leg === null &&
  ((call_direction === 'inbound' && authorizing_id === null) ||
    (call_direction === 'outbound' && resource_id !== null))

const before = (text: string, at: number) => (at < 0 ? text : text.slice(0, at))
const behind = (text: string, at: number) => (at < 0 ? '' : text.slice(at + 1))

/** One group for each leg. */
const groupsOfLegs = (legs: readonly CdrRow[]): SummaryGroup[] =>
  legs.filter(isSummarized).map((leg) => {
    const direction = leg.call_direction === 'inbound' ? 'inbound' : 'outbound'
    const peer = (direction === 'inbound' ? leg.sip_from : leg.sip_to) ?? ''
    const to = leg.sip_to ?? ''
    const called = before(to, to.indexOf('@'))
    return {
      direction,
      domain: behind(peer, peer.indexOf('@')),
      rate_name: leg.rate_name,
      prefix: called.slice(0, prefixLength),
      length: called.length,
      is_number: /^[+0-9]*$/.test(called) ? 1 : 0,
      seconds: leg.billing_seconds ?? 0,
    }
  })

const tollFree = new Set(['800', '833', '844', '855', '866', '877', '888'])
const caribbean = new Set(
  '242 246 264 268 284 340 345 441 473 649 658 664 721 758 767 784 787 809 829 849 868 869 876 939'.split(
    ' ',
  ),
)

const northAmerican = (area: string) => {
  if (tollFree.has(area)) return 'tollfree_us'
  if (area === '900') return 'toll_us'
  return caribbean.has(area) ? 'caribbean' : 'did_us'
}

type Called = Pick<SummaryGroup, 'prefix' | 'length' | 'is_number'>

const emergencies = new Set(['911', '933', '+911', '+933'])

// +1 and ten digits, 1 and ten digits, or ten digits; area and exchange codes do not begin with 0 or 1.
const forms = [
  { begins: '+1', length: 12 },
  { begins: '1', length: 11 },
  { begins: '', length: 10 },
]

const classOf = ({ prefix, length, is_number: isNumber }: Called): string => {
  if (!isNumber) return 'unknown'
  if (length === prefix.length && emergencies.has(prefix)) return 'emergency'
  for (const form of forms) {
    const area = prefix.slice(form.begins.length, form.begins.length + 3)
    if (length === form.length && prefix.startsWith(form.begins) && /^[2-9]/.test(area))
      return northAmerican(area)
  }
  return /^\+[2-9]|^011/.test(prefix) ? 'international' : 'unknown'
}

type Seconds = Record<string, number>
export type Summary = Record<'inbound' | 'outbound', Record<string, Record<string, Seconds>>>

/** Names from the switch may equal an inherited property, so these objects inherit nothing. */
const bare = <T>(): Record<string, T> => Object.create(null)

export const emptySummary = (): Summary => ({ inbound: bare(), outbound: bare() })

const innerOf = <T>(outer: Record<string, Record<string, T>>, key: string) => {
  outer[key] ??= bare<T>()
  return outer[key]
}

export const addGroup = (summary: Summary, group: SummaryGroup) => {
  const { rate_name: rate } = group
  const classes = innerOf(summary[group.direction], group.domain || 'unknown')
  const seconds = innerOf(classes, classOf(group))
  for (const name of rate && rate !== 'total' ? ['total', rate] : ['total'])
    seconds[name] = (seconds[name] ?? 0) + group.seconds
}

export const createSummaryStore = (store: Store, legs: CdrStore) => {
  const { words } = store
  const called = words.before('sip_to', '@')
  // The domain is the source of inbound calls and the target of outbound calls.
  const domain = `CASE call_direction WHEN 'inbound' THEN ${words.behind('sip_from', '@')}
    ELSE ${words.behind('sip_to', '@')} END`
  const groups = `SELECT direction, domain, rate_name, prefix, length, is_number, CAST(sum(seconds) AS BIGINT) AS seconds FROM (
    SELECT call_direction AS direction, COALESCE(${domain}, '') AS domain, rate_name,
      substr(COALESCE(${called}, ''), 1, ${prefixLength}) AS prefix, length(COALESCE(${called}, '')) AS length,
      CASE WHEN ltrim(COALESCE(${called}, ''), '+0123456789') = '' THEN 1 ELSE 0 END AS is_number,
      COALESCE(billing_seconds, 0) AS seconds`
  const counted = `loopback_leg IS NULL AND (
      (call_direction = 'inbound' AND authorizing_id IS NULL)
      OR (call_direction = 'outbound' AND resource_id IS NOT NULL))`

  return {
    /** The same group may come several times. */
    groups: (scope: Scope): AsyncGenerator<SummaryGroup[]> =>
      legs.sums(scope, {
        bySql(part) {
          const { params, mark } = createParams()
          const condition = `${inPartSql(part, legOrder, mark)} AND ${counted}`
          return store.cdrs.read(monthsOf(part), (from) =>
            store.scan<SummaryGroup>(
              `${groups} FROM ${from} WHERE ${condition}) AS legs
                GROUP BY direction, domain, rate_name, prefix, length, is_number`,
              params,
            ),
          )
        },
        ofLegs: groupsOfLegs,
      }),
  }
}
