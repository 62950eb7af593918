import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { systemConfigsArea } from '../../system/system-configs/area.ts'
import { createBrandImporter, createSenderImporter } from './adoption.ts'
import { createBrands, createBrandVisibility, createPortals } from './brands.ts'
import { createWhitelabelDomains } from './domains/operations.ts'
import { WhitelabelDomains } from './domains/schema.ts'
import { createDomainTemplate } from './domains/template.ts'
import { createDomainStatuses } from './domains/watch.ts'
import { createSenderEmails } from './emails/operations.ts'
import { senderEmailRoutes } from './emails/routes.ts'
import { SenderEmail } from './emails/schema.ts'
import { createBrandSenders } from './emails/senders.ts'
import { createBrandFiles } from './files/operations.ts'
import { brandFileRoutes } from './files/routes.ts'
import { emailVerificationNotice } from './notices.ts'
import { createWhitelabels } from './operations.ts'
import { whitelabelDomainRoutes, whitelabelRoutes } from './routes.ts'
import { Whitelabel } from './schema.ts'
import { whitelabelSettings } from './settings.ts'

export const whitelabelArea = area({
  name: 'whitelabel',
  kinds: {
    domain_checks: 'results of the DNS checks of a brand',
    verification_mails: 'verification emails of a brand',
    whitelabel: 'brands',
    whitelabel_email: 'sender addresses of a brand',
    whitelabel_file: 'pictures and texts of a brand',
  },
  events: {
    'domain.failed':
      'Extra: a DNS record of a brand that was correct at an earlier check is not correct now; name servers that do not answer do not count. Checked on request, and every `check_domains_hours` (settings of `whitelabel`). Record: `whitelabel`. `after`: `domain`, `failed`: array of `type`, `host`, `expected`, `actual`',
  },
  describes: { whitelabel: 'Branding of resellers: look, domains, email senders.' },
  needs: { accounts: accountsArea, systemConfigs: systemConfigsArea },
  settings: [whitelabelSettings],
  notices: [emailVerificationNotice],
  create(tools, { accounts, systemConfigs }) {
    const { store } = tools
    const files = createBrandFiles(store)
    const emails = createSenderEmails(tools)
    const standings = createDomainStatuses(store)
    const template = createDomainTemplate(tools.settings)
    const whitelabels = createWhitelabels({
      store,
      attached: [files, emails, standings],
      hostNames: accounts.hostNames,
      derivedHostsOf: template.hostsOf,
    })
    const senders = createBrandSenders({ store, whitelabels, emails })
    const domains = createWhitelabelDomains({
      ...tools,
      systemConfigs,
      whitelabels,
      standings,
      template,
      senders,
    })
    const visibility = createBrandVisibility({ clock: store.clock, accounts, whitelabels, domains })
    return {
      offers: {
        senders,
        conflicts: whitelabels.conflicts,
        find: whitelabels.find,
        companyNameOf: async (accountId: string) => (await whitelabels.find(accountId))?.doc.company_name,
        brandOf: createBrands({ store, whitelabels, files }),
        brandAt: whitelabels.ofHost,
        isSetUp: domains.isSetUp,
        portalOf: createPortals({ whitelabels, domains }),
      },
      routes: [
        ...whitelabelRoutes(whitelabels, visibility),
        ...whitelabelDomainRoutes(domains),
        ...brandFileRoutes({ whitelabels, files, visibility, accounts }),
        ...senderEmailRoutes(emails),
      ],
      jobs: [domains.watch.checkingJob],
      counts: [whitelabels.counted],
      adoptions: {
        whitelabel: createBrandImporter(store, files),
        whitelabel_email: createSenderImporter(store),
      },
      schemas: {
        whitelabel: Whitelabel,
        whitelabel_domains: WhitelabelDomains,
        whitelabel_emails: SenderEmail,
      },
    }
  },
})
