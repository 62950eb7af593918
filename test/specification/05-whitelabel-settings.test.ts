import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type FieldRow, itHoldsRows } from '../support/matchers/field-rows.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const defaults = { hide_credits: false, hide_powered: false, hide_registration: false }
const withDefaults = (fields: Json) => ({ id: 'whitelabel', ...defaults, ...fields })

const noHosts = ['two words', 'a..b']
const noAddresses = ['javascript:alert(1)', 'two words']

const rows: FieldRow[] = [
  {
    says: 'company_name: string',
    takes: ['Acme Telephony'],
    refuses: { type: [5] },
  },
  {
    says: 'domain: string, what users enter to reach the UI',
    takes: ['portal.acme.test'],
    refuses: { type: [5], wrong_format: noHosts },
  },
  {
    says: 'conference_public_domain: string, where conferences are reached by webphone',
    takes: ['meet.acme.test'],
    refuses: { type: [5], wrong_format: noHosts },
  },
  {
    says: 'fake_api_url: string, the API URL that developers are shown',
    takes: ['https://api.acme.test/v2'],
    refuses: { type: [5], wrong_format: noAddresses },
  },
  {
    says: 'hide_credits, hide_powered, hide_registration: boolean, false by default',
    takes: [true, false],
    refuses: { type: ['perhaps', 5] },
  },
  {
    says: 'inbound_trunks_price, outbound_trunks_price, twoway_trunks_price: string, for display only',
    takes: ['6.99'],
    refuses: { type: [6.99] },
  },
  {
    says: 'nav: object',
    takes: [{}],
    refuses: { type: ['help'] },
  },
  {
    says: 'nav.help, nav.learn_more: string, links',
    takes: ['https://help.acme.test/'],
    refuses: { type: [5], wrong_format: noAddresses },
  },
  {
    says: 'port: object',
    takes: [{}],
    refuses: { type: ['us'] },
  },
  {
    says: 'port.authority: string, the account that administers port requests',
    takes: ['0'.repeat(32)],
    refuses: { type: [5] },
  },
  {
    says: 'port.features, port.loa, port.resporg, port.terms: string, links',
    takes: ['https://acme.test/porting'],
    refuses: { type: [5], wrong_format: noAddresses },
  },
  {
    says: 'port.support_email: string, shown to users',
    takes: ['ports@acme.test'],
    refuses: { type: [5], wrong_format: ['nobody'] },
  },
  {
    says: 'commland, commland.downloads: object',
    takes: [{}],
    refuses: { type: ['app'] },
  },
  {
    says: 'deb, mac, rpm, windows: string, download URLs',
    within: 'commland.downloads',
    takes: ['https://acme.test/app'],
    refuses: { type: [5], wrong_format: noAddresses },
  },
]

describeAnyEngine('Whitelabel settings', (engine) => {
  const world = useWorld(engine, async ({ ada, acme }) => {
    await ada.put(`${acme.path}/whitelabel`, {})
  })
  const pathOf = ({ path }: TestAccount) => `${path}/whitelabel`

  it('are stored per account, under the id `whitelabel`', async () => {
    const account = await world.account(world.reseller)
    const made = await world.ross.put(pathOf(account), { company_name: 'Branch' })
    expect(made).toSucceedWith(withDefaults({ company_name: 'Branch' }))
    expect(await world.ross.get(pathOf(account))).toSucceedWith(made.data)
    expect(await world.rex.get(pathOf(world.rival))).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: 'whitelabel',
    })
  })

  it('need no key: the defaults are filled in', async () => {
    const account = await world.account(world.reseller)
    expect(await world.ross.put(pathOf(account), {})).toSucceedWith(withDefaults({}))
  })

  itHoldsRows(world, rows, {
    write: (fields) => world.ada.post(pathOf(world.acme), fields),
    read: () => world.ada.get(pathOf(world.acme)),
    shows: withDefaults,
  })

  it('are visible to visitors of the domain, signed in or not', async () => {
    const settings = { domain: 'sign-in.acme.test', company_name: 'Acme' }
    // Settings that the operator writes need no DNS.
    await world.operator.post(pathOf(world.acme), settings)
    for (const visitor of [world.anonymous, world.rex]) {
      expect(await visitor.get('/v2/whitelabel/sign-in.acme.test')).toSucceedWith(withDefaults(settings))
    }
  })

  it('are read and written only by the account and those above it', async () => {
    expect(await world.ross.get(pathOf(world.acme))).toSucceed()
    await world.unchanged(async () => {
      expect(await world.rex.get(pathOf(world.acme))).toFailWith(403, 'forbidden')
      expect(await world.rex.post(pathOf(world.acme), {})).toFailWith(403, 'forbidden')
      expect(await world.anonymous.post(pathOf(world.acme), {})).toFailWith(401, 'invalid_credentials')
    })
  })
})
