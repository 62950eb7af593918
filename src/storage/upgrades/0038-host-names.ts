import { formatAddress, parseAddress } from '../../lib/cidr.ts'
import { hostNameOf } from '../../lib/host-name.ts'
import type { Json } from '../../lib/json.ts'
import { memberOf } from '../../lib/member.ts'
import type { Run, Upgrade } from '../upgrades.ts'

const atOnce = 500

const insertClaim = `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
  VALUES ('system', $1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
const updateHidden = 'UPDATE records SET hidden = $4 WHERE account_id = $1 AND kind = $2 AND id = $3'

interface Stored {
  accountId: string
  id: string
  doc: Json
}

/** What is added to a record. */
interface Addition {
  claims: readonly (readonly [name: string, value: string])[]
  hidden?: Json
}

const hostIn = (text: unknown) => (typeof text === 'string' ? hostNameOf(text) : undefined)

const hostName = (host: string, accountId: string, use: string) =>
  ['host_name', `${host.split('.').toReversed().join('.')}/${accountId}/${use}`] as const

const listIn = (doc: Json, key: string): unknown[] => {
  const list = memberOf(doc, key)
  return Array.isArray(list) ? list : []
}

const carrierHost = (text: string) => {
  const address = parseAddress(text)
  return address ? formatAddress(address) : text.replace(/\.$/, '').toLowerCase()
}

const additions: Readonly<Record<string, (stored: Stored) => Addition>> = {
  account({ accountId, doc }) {
    const host = hostIn(doc.realm)
    return { claims: host === undefined ? [] : [hostName(host, accountId, 'realm')] }
  },

  // Brands stay visible.
  whitelabel({ accountId, doc }) {
    const domain = hostIn(doc.domain)
    const conference = hostIn(doc.conference_public_domain)
    const hosts = [domain, conference].filter((host) => host !== undefined)
    return {
      claims: [
        ...(domain === undefined ? [] : [hostName(domain, accountId, 'domain')]),
        ...(conference === undefined ? [] : [hostName(conference, accountId, 'conference')]),
      ],
      ...(hosts.length > 0 ? { hidden: { confirmedHosts: hosts } } : {}),
    }
  },

  // Carriers of accounts keep their hosts.
  resource({ accountId, id, doc }) {
    const gateways = listIn(doc, 'gateways').flatMap((gateway) => [
      memberOf(gateway, 'server'),
      memberOf(gateway, 'proxy'),
    ])
    const texts = (all: unknown[]) => all.filter((text) => typeof text === 'string').map(carrierHost)
    const hosts = [...new Set(texts(gateways))]
    const claimed = new Set([...hosts, ...texts(listIn(doc, 'inbound_ips'))])
    return {
      claims: [...claimed].map((host) => ['carrier_host', `${host}/${id}`] as const),
      ...(accountId === 'system' || hosts.length === 0 ? {} : { hidden: { operatorHosts: hosts } }),
    }
  },
}

const addTo = async (run: Run, kind: string, add: (stored: Stored) => Addition) => {
  let after: readonly string[] = ['', '']
  for (;;) {
    const rows = await run(
      `SELECT account_id, id, doc, hidden FROM records
        WHERE kind = '${kind}' AND (account_id, id) > ($1, $2)
        ORDER BY account_id, id LIMIT ${atOnce}`,
      after,
    )
    for (const row of rows) {
      const [accountId, id] = [String(row.account_id), String(row.id)]
      after = [accountId, id]
      const { claims, hidden } = add({ accountId, id, doc: JSON.parse(String(row.doc)) })
      for (const [name, value] of claims) await run(insertClaim, [name, value, accountId, kind, id])
      if (hidden) {
        const whole = { ...JSON.parse(String(row.hidden)), ...hidden }
        await run(updateHidden, [accountId, kind, id, JSON.stringify(whole)])
      }
    }
    if (rows.length < atOnce) return
  }
}

/** Host names of brands, conferences and realms are compared as a tree, and hosts of customers with those of carriers. */
export const hostNames: Upgrade = {
  number: 38,
  title: 'host names and hosts of carriers are found by their name',
  statements: () => [],
  async rewrite(run) {
    for (const [kind, add] of Object.entries(additions)) await addTo(run, kind, add)
  },
}
