import { accountMember, anyone, superduper } from '../../../../auth/policies.ts'
import { answer } from '../../../../http/answer/answers.ts'
import { get, post, type Route } from '../../../../http/route.ts'
import { invalidData } from '../../../../lib/failure.ts'
import type { WhitelabelDomainChecks } from './operations.ts'
import { DomainChecks, ExpandedDomains, WhitelabelDomains } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/whitelabel/domains'
const ofSystem = '/v2/whitelabel/domains'
const query = { domain: 'The domain, before it stands in the settings' }

export const whitelabelDomainRoutes = (domains: WhitelabelDomainChecks): Route[] => [
  get(onAccount, {
    summary: 'The DNS records that an account has to set up for its domain',
    allow: anyone,
    query,
    answers: ExpandedDomains,
    run: ({ path, request }) => domains.expanded(request.value('domain'), path.account_id),
  }),
  post(onAccount, {
    summary: 'Look up the DNS records of the domain: what is there beside what should be',
    allow: accountMember,
    query: { ...query, use_tcp: { flag: 'true asks name servers by TCP from the start' } },
    answers: DomainChecks,
    run: async ({ author, path, request }) => {
      const tcp = String(request.value('use_tcp')) === 'true'
      const { checks, senders } = await domains.check(author, request.value('domain'), path.account_id, tcp)
      return answer({ data: checks, metadata: { senders } })
    },
  }),
  get(ofSystem, {
    summary: 'The DNS records that have to be set up for a domain',
    allow: anyone,
    query: { domain: 'The domain' },
    answers: ExpandedDomains,
    run: ({ request }) => domains.expanded(request.value('domain'), undefined),
  }),
  post(ofSystem, {
    summary: 'Replace the template of DNS records: {{domain}} stands for the domain of a reseller',
    allow: superduper,
    body: WhitelabelDomains,
    answers: WhitelabelDomains,
    fails: [invalidData],
    run: ({ author, data }) => domains.replaceTemplate(author, data),
  }),
]
