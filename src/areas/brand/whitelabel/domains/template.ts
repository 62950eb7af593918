import type { Settings } from '../../../../settings/settings.ts'
import { whitelabelSettings } from '../settings.ts'
import { defaultTemplate } from './default-template.ts'
import { type Entry, entriesOf, expand, inPlace, placeholder, type Template } from './rules.ts'

// What leads a browser to a host.
const addressTypes: ReadonlySet<string> = new Set(['A', 'AAAA', 'CNAME', 'CNAM'])

export type DomainTemplate = ReturnType<typeof createDomainTemplate>

/** The DNS records that the operator wants for each brand. */
export const createDomainTemplate = (settings: Settings) => {
  const whole = async (): Promise<Template> => {
    const { domains = {} } = await settings.of(whitelabelSettings)
    return Object.keys(domains).length > 0 ? domains : defaultTemplate
  }

  /** The entries for a domain that lead browsers to hosts. */
  const addressesOf = async (domain: string): Promise<Entry[]> =>
    entriesOf(expand(await whole(), domain)).filter(({ type }) => addressTypes.has(type))

  return {
    whole,
    addressesOf,

    /** The hosts that browsers can reach and that the template derives from the domain. A fixed host belongs to no brand. */
    async hostsOf(domain: string): Promise<string[]> {
      const hosts = (await addressesOf(placeholder)).map(({ host }) => host)
      return hosts
        .filter((host) => host.includes(placeholder))
        .map((host) => inPlace(host, domain).toLowerCase())
    },
  }
}
