import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const system = '/v2/whitelabel/domains'
const query = { domain: 'acme.test' }

const template = {
  A: { 'sip.{{domain}}': { name: 'Proxy', zone: 'east', mapping: ['192.0.2.1', '192.0.2.2'] } },
  CNAM: { 'old.{{domain}}': { name: 'Old portal', mapping: ['ui.vendor.example'] } },
  CNAME: { 'portal.{{domain}}': { name: 'Portal', mapping: ['ui.vendor.example'] } },
  MX: { '{{domain}}': { name: 'Mail', mapping: ['mx.vendor.example'] } },
  NAPTR: { 'sip.{{domain}}': { name: 'Pointer', mapping: ['10 100 "S" "SIP+D2U" "" _sip._udp.{{domain}}'] } },
  SRV: { '_sip._udp.{{domain}}': { name: 'Service', mapping: ['10 10 7000 sip.{{domain}}'] } },
  TXT: {},
}

describeAnyEngine('The whitelabel domains object', (engine) => {
  const world = useWorld(engine)
  const store = (domains: Json) => world.operator.post(system, domains)
  const shown = () => world.anonymous.get(system, { query })

  beforeEach(async () => {
    expect(await store(template)).toSucceedWith(template)
  })

  it('is keyed by record type in upper case, then by host, {{domain}} replaced in hosts and mappings', async () => {
    expect(await shown()).toSucceedWith({
      A: { 'sip.acme.test': { name: 'Proxy', zone: 'east', mapping: ['192.0.2.1', '192.0.2.2'] } },
      CNAM: { 'old.acme.test': { name: 'Old portal', mapping: ['ui.vendor.example'] } },
      CNAME: { 'portal.acme.test': { name: 'Portal', mapping: ['ui.vendor.example'] } },
      MX: { 'acme.test': { name: 'Mail', mapping: ['mx.vendor.example'] } },
      NAPTR: {
        'sip.acme.test': { name: 'Pointer', mapping: ['10 100 "S" "SIP+D2U" "" _sip._udp.acme.test'] },
      },
      SRV: { '_sip._udp.acme.test': { name: 'Service', mapping: ['10 10 7000 sip.acme.test'] } },
      TXT: {},
    })
  })

  it('replaces {{domain}} by the whitelabel domain of the reseller', async () => {
    await world.ross.put(`${world.reseller.path}/whitelabel`, { domain: 'reseller.test' })
    const { data } = await world.ross.get(`${world.reseller.path}/whitelabel/domains`)
    expect(Object.keys(data.SRV)).toEqual(['_sip._udp.reseller.test'])
    expect(data.SRV['_sip._udp.reseller.test'].mapping).toEqual(['10 10 7000 sip.reseller.test'])
  })

  it('knows no other template parameter', async () => {
    const odd = { 'sip.{{realm}}': { name: '{{realm}}', mapping: ['{{realm}}'] } }
    await store({ A: odd })
    expect(await shown()).toSucceedWith({ A: odd })
  })

  it.each([
    ['mapping: array of string', { mapping: 'one' }, 'mapping'],
    ['mapping: each of them a string', { mapping: ['192.0.2.1', 5] }, 'mapping.1'],
    ['name: string, friendly', { name: 5 }, 'name'],
    ['zone: string, optional', { zone: 5 }, 'zone'],
  ])('%s', async (_row, wrong, field) => {
    const entry = { name: 'Proxy', mapping: ['192.0.2.1'], ...wrong }
    expect(await world.unchanged(() => store({ A: { '{{domain}}': entry } }))).toBreak({
      [`A.{{domain}}.${field}`]: ['type'],
    })
  })

  it('has empty types as empty objects', async () => {
    await store({ A: {}, MX: {} })
    expect(await shown()).toSucceedWith({ A: {}, MX: {} })
  })

  it('is visible to all users, and set by system administrators alone', async () => {
    expect(await world.rex.get(system, { query })).toSucceed()
    await world.unchanged(async () => {
      for (const person of [world.ross, world.ada])
        expect(await person.post(system, template)).toFailWith(403, 'forbidden')
    })
  })
})
