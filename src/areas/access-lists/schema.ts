import type { Static } from 'typebox'
import { maxPatternLength } from '../../lib/pattern.ts'
import { anyText, choice, list, must, open, text } from '../../lib/schema.ts'

const order = choice(['allow,deny', 'deny,allow'], { description: 'Order in which the rule is evaluated' })
// An edge waits for the decision with a call in hand: the list is bounded.
const cidrs = list(anyText(), { maxItems: 4096, description: 'IPv4 subnets in CIDR notation' })
const userAgent = text(0, maxPatternLength, {
  description: 'Regular expression (RE2) that the SIP user agent has to match',
})

export const AccessList = open(
  { order: must(order), cidrs: must(cidrs), user_agent: userAgent },
  { title: 'Access list' },
)

/** What a read answers: nothing at all where no list is kept. */
export const AccessListOrNone = open({ order, cidrs, user_agent: userAgent })

export type AccessList = Static<typeof AccessList>
