import type { Static } from 'typebox'
import { parseCidr } from './cidr.ts'
import type { Problems } from './failure.ts'
import { compilePattern, maxPatternLength } from './pattern.ts'
import { anyText, choice, list, must, open, text } from './schema.ts'

// Access lists are part of accounts and of devices.

const order = choice(['allow,deny', 'deny,allow'], { description: 'Order in which the rule is evaluated' })
// Bounded, because an edge waits for the decision.
const cidrs = list(anyText(), { maxItems: 4096, description: 'IPv4 subnets in CIDR notation' })
const userAgent = text(0, maxPatternLength, {
  description: 'Regular expression (RE2) that the SIP user agent has to match',
})

export const AccessList = open(
  { order: must(order), cidrs: must(cidrs), user_agent: userAgent },
  { title: 'Access list' },
)

/** Empty if there is no list. */
export const AccessListOrNone = open({ order, cidrs, user_agent: userAgent })

export type AccessList = Static<typeof AccessList>

const isIPv4Cidr = (value: string) => !value.includes(':') && parseCidr(value) !== undefined

const cidrProblems = (values: readonly string[], at: string): Problems => {
  const problems: Problems = {}
  for (const [index, value] of values.entries()) {
    if (isIPv4Cidr(value)) continue
    const message = 'Must be an IPv4 subnet in CIDR notation, for example 192.0.2.0/24'
    problems[`${at}cidrs.${index}`] = { wrong_format: { message, format: 'ipv4-cidr', value } }
  }
  return problems
}

const userAgentProblems = (value: string, at: string): Problems => {
  const { problem } = compilePattern(value)
  if (problem === undefined) return {}
  const message = `The pattern ${problem}`
  return { [`${at}user_agent`]: { wrong_format: { message, format: 'regex', value } } }
}

/** Rules that the schema cannot express. `at`: prefix of the paths, with a dot at the end. */
export const accessListProblems = (
  { cidrs: values, user_agent: pattern }: Partial<AccessList>,
  at = '',
): Problems => ({
  ...(values && cidrProblems(values, at)),
  ...(pattern !== undefined && userAgentProblems(pattern, at)),
})
