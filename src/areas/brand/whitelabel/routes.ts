import { accountAdmin, accountMember, anyone, superduper } from '../../../auth/policies.ts'
import { ApiResponse, answer, one, publicly, removed } from '../../../http/response/responses.ts'
import { type Call, del, get, post, put, type Route } from '../../../http/route.ts'
import { invalidData } from '../../../lib/failure.ts'
import { isTrue, type Json } from '../../../lib/json.ts'
import type { BrandVisibility } from './brands.ts'
import type { WhitelabelDomainChecks } from './domains/operations.ts'
import { DomainChecks, ExpandedDomains, WhitelabelDomains } from './domains/schema.ts'
import type { Whitelabels } from './operations.ts'
import { Whitelabel, WhitelabelRecord } from './schema.ts'
import type { WhitelabelStored } from './store.ts'

const brandPath = '/v2/accounts/{account_id}/whitelabel'
const onDomain = '/v2/whitelabel/{domain}'

/** Clients echo the id. */
const withoutId = ({ id: _id, ...settings }: Json): Json => settings

export const whitelabelRoutes = (whitelabels: Whitelabels, visibility: BrandVisibility): Route[] => {
  const subject = ({ path }: { path: { account_id: string } }) => whitelabels.get(path.account_id)

  const writing = {
    allow: accountMember,
    prepare: withoutId,
    body: Whitelabel,
    warns: ({ account, data }: Pick<Call<string, Whitelabel>, 'account' | 'data'>) =>
      whitelabels.warnings(account, data),
    wishes: {
      confirm_domain: {
        flag: 'true: the operator confirms the hosts. Visitors see the brand without a DNS check, and other accounts may have names below the hosts. false: the operator confirms none of them. Without it the operator confirms those that it adds',
      },
    },
    answers: WhitelabelRecord,
  }

  const confirmationOf = ({ actor, request }: Pick<Call, 'actor' | 'request'>) => {
    const wish = request.value('confirm_domain')
    return { actor, confirms: isTrue(wish) || (String(wish) === 'false' ? false : undefined) }
  }

  const writerOf = (call: Pick<Call, 'author' | 'actor' | 'request'>) => ({
    author: call.author,
    ...confirmationOf(call),
  })

  const shownTo = ({ visitor }: Pick<Call, 'visitor'>, record: WhitelabelStored) => {
    const { fields } = one(record)
    return new ApiResponse({ ...fields, headers: publicly(visitor) })
  }

  return [
    get(brandPath, {
      summary: 'Read the whitelabel settings of an account',
      allow: accountMember,
      subject,
      answers: WhitelabelRecord,
      run: ({ subject: record }) => one(record),
    }),
    put(brandPath, {
      summary: 'Create the whitelabel settings of an account',
      ...writing,
      judge: (call) => whitelabels.judge(confirmationOf(call), call.account, call.data),
      run: async (call) => one(await whitelabels.create(writerOf(call), call.account.id, call.data)),
    }),
    post(brandPath, {
      summary: 'Replace the whitelabel settings of an account',
      ...writing,
      subject,
      judge: (call) => whitelabels.judge(confirmationOf(call), call.account, call.data, call.subject),
      run: async (call) => one(await whitelabels.replace(writerOf(call), call.subject, call.data)),
    }),
    del(brandPath, {
      summary: 'Delete the whitelabel settings of an account, with its files and sender addresses',
      // It also deletes files and senders, which only admins may write.
      allow: accountAdmin,
      subject,
      answers: WhitelabelRecord,
      run: async ({ author, subject: record }) => removed(await whitelabels.remove(author, record)),
    }),
    get(onDomain, {
      summary: 'Read the whitelabel settings of a host, for sign-in pages without a token',
      allow: anyone,
      answers: WhitelabelRecord,
      run: async (call) => shownTo(call, await visibility.at(call.path.domain, call.visitor)),
    }),
  ]
}

const domainsOfAccount = '/v2/accounts/{account_id}/whitelabel/domains'
const domainsOfSystem = '/v2/whitelabel/domains'
const domainQuery = { domain: 'The domain, before it is saved in the settings' }

export const whitelabelDomainRoutes = (domains: WhitelabelDomainChecks): Route[] => [
  get(domainsOfAccount, {
    summary: 'List the DNS records that an account must set up for its domain',
    allow: anyone,
    query: domainQuery,
    answers: ExpandedDomains,
    run: ({ path, request }) => domains.expanded(request.value('domain'), path.account_id),
  }),
  post(domainsOfAccount, {
    summary: 'Compare the DNS records of the domain with the required values',
    allow: accountMember,
    query: { ...domainQuery, use_tcp: { flag: 'true uses TCP for DNS queries' } },
    answers: DomainChecks,
    run: async ({ author, path, request }) => {
      const tcp = String(request.value('use_tcp')) === 'true'
      const { checks, senders } = await domains.check(author, request.value('domain'), path.account_id, tcp)
      return answer({ data: checks, metadata: { senders } })
    },
  }),
  get(domainsOfSystem, {
    summary: 'List the DNS records that must be set up for a domain',
    allow: anyone,
    query: { domain: 'The domain' },
    answers: ExpandedDomains,
    run: ({ request }) => domains.expanded(request.value('domain'), undefined),
  }),
  post(domainsOfSystem, {
    summary: 'Replace the template of DNS records: {{domain}} stands for the domain of a reseller',
    allow: superduper,
    body: WhitelabelDomains,
    answers: WhitelabelDomains,
    fails: [invalidData],
    run: ({ author, data }) => domains.replaceTemplate(author, data),
  }),
]
