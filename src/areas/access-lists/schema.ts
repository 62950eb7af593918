import type { Static } from 'typebox'
import { maxPatternLength } from '../../lib/pattern.ts'
import { anyText, choice, list, must, open, text } from '../../lib/schema.ts'

export const AccessList = open({
  order: must(choice(['allow,deny', 'deny,allow'], { description: 'Order in which the rule is evaluated' })),
  // An edge waits for the decision with a call in hand: the list is bounded.
  cidrs: must(list(anyText(), { maxItems: 4096, description: 'IPv4 subnets in CIDR notation' })),
  user_agent: text(0, maxPatternLength, {
    description: 'Regular expression (RE2) that the SIP user agent has to match',
  }),
})

export type AccessList = Static<typeof AccessList>
