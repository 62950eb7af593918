import { describe, expect, it } from 'vitest'
import {
  convertPoolEntry,
  convertPortRequest,
  createUses,
  poolsIn,
  portsIn,
  usesIn,
} from '../../import-kazoo/conversions/number-sources.rules.ts'
import {
  convertCopy,
  convertNumber,
  type NumberContext,
} from '../../import-kazoo/conversions/numbers.rules.ts'
import type { Json } from '../../src/lib/json.ts'
import { kazooDocument } from '../support/kazoo/kazoo-documents.ts'

const customer = 'c'.repeat(32)
const reseller = 'b'.repeat(32)
const other = 'd'.repeat(32)
const gone = 'e'.repeat(32)
const shard = 'numbers/+1415'
const times = { pvt_created: 63_800_000_000, pvt_modified: 63_800_000_100 }

const contextOf = (more: Partial<NumberContext> = {}): NumberContext => ({
  accounts: new Set([customer, reseller, other]),
  systemId: 'system',
  uses: createUses(),
  ports: new Map(),
  pools: new Map(),
  ...more,
})

const numberDocument = (fields: Json, options = {}) =>
  kazooDocument(shard, { _id: '+14155550100', pvt_type: 'number', ...times, ...fields }, options)

const convert = (fields: Json, more: Partial<NumberContext> = {}) =>
  convertNumber(numberDocument(fields), contextOf(more))

const told = (id: string, severity: string, code: string, more: object = {}) => ({
  severity,
  code,
  database: shard,
  id,
  ...more,
})

const used = (accountId: string, ...found: Parameters<ReturnType<typeof createUses>['add']>[1][]) => {
  const uses = createUses()
  for (const one of found) uses.add(accountId, one)
  return uses
}

const inUse = used(customer, [['+14155550100', 'callflow']])

describe('a number of a Kazoo', () => {
  it('comes as it is, with what its carrier wants to see again', () => {
    const { outcome, drafts, findings } = convert(
      {
        pvt_db_name: 'numbers%2F%2B1415',
        pvt_state: 'in_service',
        pvt_assigned_to: customer,
        pvt_used_by: 'callflow',
        pvt_module_name: 'knm_bandwidth2',
        pvt_features: { outbound_cnam: { display_name: 'Acme' } },
        pvt_features_allowed: ['dash_e911'],
        pvt_features_denied: ['sms'],
        pvt_carrier_data: { order_id: 'o-1' },
        pvt_region: 'US-CA',
        pvt_locality: { city: 'San Francisco' },
        pvt_ported_in: true,
        pvt_is_billable: true,
        pvt_authorizing_account: reseller,
        cnam: { display_name: 'Acme' },
        features: ['outbound_cnam'],
        state: 'in_service',
        used_by: 'callflow',
        custom: { mine: 1 },
      },
      { uses: inUse },
    )
    expect({ outcome, findings }).toEqual({ outcome: 'imported', findings: [] })
    expect(drafts).toEqual([
      {
        as: 'number',
        accountId: customer,
        id: '+14155550100',
        created: 63_800_000_000,
        modified: 63_800_000_100,
        doc: { cnam: { display_name: 'Acme' }, custom: { mine: 1 } },
        facts: {
          state: 'in_service',
          carrier: 'knm_bandwidth2',
          usedBy: 'callflow',
          hidden: {
            features: { outbound_cnam: { display_name: 'Acme' } },
            featuresAllowed: ['e911'],
            featuresDenied: ['sms'],
            portedIn: true,
            region: 'US-CA',
            locality: { city: 'San Francisco' },
            carrierData: { order_id: 'o-1' },
          },
        },
        files: [],
      },
    ])
  })

  it('of the oldest form has the names of today, and its features get their data from its fields', () => {
    const address = { locality: 'SF', postal_code: '94110', region: 'CA', street_address: '1 Main St' }
    const { drafts, findings } = convert({
      pvt_type: '',
      pvt_number_state: 'in_service',
      pvt_assigned_to: customer,
      pvt_module_name: 'wnm_local',
      pvt_features: ['failover', 'dash_e911', 'inbound_cnam', 'force_outbound'],
      failover: { e164: '+14155550199' },
      dash_e911: address,
      force_outbound: 'true',
      used_by: '',
    })
    expect(findings).toEqual([])
    expect(drafts[0]?.doc).toEqual({
      failover: { e164: '+14155550199' },
      e911: address,
      force_outbound: true,
    })
    expect(drafts[0]?.facts).toEqual({
      state: 'in_service',
      carrier: 'knm_local',
      usedBy: '',
      hidden: {
        features: {
          local: {},
          failover: { e164: '+14155550199' },
          e911: address,
          inbound_cnam: { inbound_lookup: true },
          force_outbound: true,
        },
      },
    })
  })

  it.each([
    ['wnm_bandwidth', 'knm_bandwidth2'],
    ['knm_bandwidth', 'knm_bandwidth2'],
    ['knm_telnyx', 'knm_telnyx'],
    ['wnm_other', 'knm_other'],
    [undefined, 'knm_local'],
  ])('of the carrier %s is one of %s', (name, carrier) => {
    const module = name === undefined ? {} : { pvt_module_name: name }
    const { drafts } = convert({ pvt_state: 'in_service', pvt_assigned_to: customer, ...module })
    expect(drafts[0]?.facts.carrier).toBe(carrier)
  })

  it.each([
    [{ pvt_state: 'deleted' }],
    [{ pvt_number_state: 'deleted' }],
    [{ pvt_state: 'in_service', pvt_deleted: 'true' }],
    [{ pvt_state: 'discovery' }],
  ])('that is deleted, or was only discovered, is skipped: %j', (fields) => {
    expect(convert(fields)).toMatchObject({ outcome: 'skipped', drafts: [], findings: [] })
  })

  it.each([
    ['in_service', 'aging'],
    ['reserved', 'available'],
  ])(
    'in state %s of an account that is not imported gets no owner and is %s, without the data of that account',
    (pvt_state, left) => {
      const { drafts, findings } = convert({
        pvt_state,
        pvt_assigned_to: gone,
        pvt_used_by: 'callflow',
        pvt_module_name: 'knm_local',
        pvt_reserve_history: [gone],
        pvt_features: { outbound_cnam: { display_name: 'Gone' } },
        cnam: { display_name: 'Gone' },
      })
      expect(findings).toEqual([
        told('+14155550100', 'repaired', 'number_owner_gone', {
          field: 'pvt_assigned_to',
          old: gone,
          new: left,
        }),
      ])
      expect(drafts[0]).toMatchObject({ accountId: '', doc: {} })
      expect(drafts[0]?.facts).toEqual({
        state: left,
        carrier: 'knm_local',
        usedBy: '',
        hidden: { features: { local: {} }, previouslyAssignedTo: gone },
      })
    },
  )

  it.each(['in_service', 'reserved'])('in state %s without an owner is available', (pvt_state) => {
    const { drafts, findings } = convert({ pvt_state, pvt_module_name: 'knm_telnyx' })
    const change = { field: 'pvt_state', old: pvt_state, new: 'available' }
    expect(findings).toEqual([told('+14155550100', 'repaired', 'number_without_owner', change)])
    expect(drafts[0]?.accountId).toBe('')
    expect(drafts[0]?.facts).toMatchObject({ state: 'available', hidden: { features: {} } })
  })

  it('that is free and has an owner is free', () => {
    const { drafts, findings } = convert({ pvt_state: 'available', pvt_assigned_to: customer })
    const change = { field: 'pvt_assigned_to', old: customer, new: '' }
    expect(findings).toEqual([told('+14155550100', 'repaired', 'number_owner_dropped', change)])
    expect(drafts[0]?.accountId).toBe('')
    expect(drafts[0]?.facts).toMatchObject({ state: 'available', hidden: { previouslyAssignedTo: customer } })
  })

  it('keeps only the existing accounts of its reserve history', () => {
    const { drafts } = convert({
      pvt_state: 'reserved',
      pvt_assigned_to: customer,
      pvt_reserve_history: [customer, gone, reseller],
    })
    expect(drafts[0]?.facts).toMatchObject({ hidden: { reserveHistory: [customer, reseller] } })
  })

  it.each([
    ['callflow', 'trunkstore'],
    ['', 'trunkstore'],
    ['trunkstore', 'trunkstore'],
  ])('with the use %j leads to the document that lists it', (stated, usedBy) => {
    const uses = used(customer, [['+14155550100', 'trunkstore']])
    const { drafts, findings } = convert(
      { pvt_state: 'in_service', pvt_assigned_to: customer, pvt_used_by: stated },
      { uses },
    )
    expect(drafts[0]?.facts).toMatchObject({ usedBy })
    const change = { field: 'pvt_used_by', old: stated, new: usedBy }
    expect(findings).toEqual(
      stated === usedBy ? [] : [told('+14155550100', 'repaired', 'number_use_differs', change)],
    )
  })

  it('that nothing lists leads nowhere, or to its mobile device', () => {
    const fields = { pvt_state: 'in_service', pvt_assigned_to: customer, pvt_used_by: 'callflow' }
    expect(convert(fields).drafts[0]?.facts).toMatchObject({ usedBy: '' })
    const mobile = { 'device-id': 'f'.repeat(32), provider: 'tower-of-power' }
    const tied = convert({ ...fields, pvt_used_by: 'mobile', pvt_module_name: 'knm_mdn', mobile })
    expect(tied.findings).toEqual([])
    expect(tied.drafts[0]).toMatchObject({
      doc: { mobile },
      facts: { carrier: 'knm_mdn', usedBy: 'mobile', hidden: { deviceId: 'f'.repeat(32) } },
    })
  })

  it('keeps the winner of a conflict, and reports the conflict', () => {
    const fields = {
      _id: '+14155550100',
      pvt_type: 'number',
      pvt_state: 'in_service',
      pvt_assigned_to: customer,
    }
    const document = kazooDocument(shard, fields, { conflicts: ['2-b'] })
    const { drafts, findings } = convertNumber(document, contextOf())
    expect(drafts[0]?.accountId).toBe(customer)
    const change = { field: '_rev', old: '2-b', new: '1-a' }
    expect(findings).toEqual([told('+14155550100', 'repaired', 'conflicting_revisions', change)])
  })

  it('of an odd name gets the one of today, and makes room for one of that name', () => {
    const { drafts, findings } = convert({ _id: '4155550100', pvt_state: 'available' })
    expect(drafts[0]).toMatchObject({ as: 'number_by_hearsay', id: '+14155550100' })
    const change = { field: '_id', old: '4155550100', new: '+14155550100' }
    expect(findings).toEqual([told('4155550100', 'repaired', 'number_normalised', change)])
  })

  it.each([
    [{ pvt_state: 'disconnected', pvt_assigned_to: customer }, 'number_state_unknown', 'disconnected'],
    [{ pvt_assigned_to: customer }, 'number_state_unknown', ''],
    [{ _id: 'main line', pvt_state: 'available' }, 'number_unreadable', 'main line'],
    [{ pvt_state: 'port_in' }, 'number_without_owner', 'port_in'],
  ])('that cannot be understood is kept for a person: %j', (fields, code, old) => {
    const { outcome, drafts, findings } = convert(fields)
    expect(outcome).toBe('kept')
    const id = Object.hasOwn(fields, '_id') ? 'main line' : '+14155550100'
    expect(drafts).toMatchObject([{ as: 'kazoo_kept', accountId: 'system', id: `${shard}|${id}` }])
    expect(findings).toMatchObject([{ severity: 'needs_hand', code, old }])
  })
})

const portRequest = (fields: Json = {}) =>
  kazooDocument('port_requests', {
    _id: '9'.repeat(32),
    pvt_type: 'port_request',
    pvt_account_id: customer,
    pvt_port_state: 'submitted',
    ...times,
    numbers: { '+14155550100': { used_by: 'callflow' }, '4155550101': {} },
    bill: { carrier: 'Old Tel', name: 'Ann Li', pin: '1234', postal_code: '94110' },
    transfer_date: 63_900_000_000,
    comments: [{ content: 'hurry' }],
    _attachments: { 'loa.pdf': { content_type: 'application/pdf', length: 9, stub: true } },
    ...fields,
  })

const porting = {
  port_id: '9'.repeat(32),
  service_provider: 'Old Tel',
  billing_name: 'Ann Li',
  billing_postal_code: '94110',
  requested_port_date: '2024-11-28',
}

describe('a port request', () => {
  it.each([
    ['unconfirmed', 0],
    ['submitted', 2],
    ['pending', 2],
    ['scheduled', 2],
    ['rejected', 2],
    ['completed', 0],
    ['canceled', 0],
  ])('that is %s moves %i numbers', (pvt_port_state, count) => {
    expect(portsIn(portRequest({ pvt_port_state }), contextOf())).toHaveLength(count)
  })

  it('moves no number of an account that does not come', () => {
    expect(portsIn(portRequest({ pvt_account_id: gone }), contextOf())).toEqual([])
  })

  it('assigns its numbers to the account, with its porting data', () => {
    const ports = new Map(portsIn(portRequest(), contextOf()))
    const { drafts, findings } = convert(
      { pvt_state: 'available', porting: { service_provider: 'Told Tel' } },
      { ports },
    )
    expect(drafts[0]).toMatchObject({ accountId: customer, facts: { state: 'port_in' } })
    expect(drafts[0]?.doc).toEqual({ porting: { ...porting, service_provider: 'Told Tel' } })
    const change = { field: 'pvt_state', old: 'available', new: 'port_in' }
    expect(findings).toEqual([told('+14155550100', 'repaired', 'number_in_port', change)])
  })

  it.each([9e15, -9e15])('has no date if its date is beyond the calendar, as %i is', (transfer_date) => {
    const ports = new Map(portsIn(portRequest({ transfer_date }), contextOf()))
    const { requested_port_date: _, ...dateless } = porting
    expect(convert({ pvt_state: 'port_in' }, { ports }).drafts[0]?.doc).toEqual({ porting: dateless })
  })

  it('takes no number from another account', () => {
    const ports = new Map(portsIn(portRequest(), contextOf()))
    const { drafts, findings } = convert({ pvt_state: 'in_service', pvt_assigned_to: other }, { ports })
    expect(drafts[0]).toMatchObject({ accountId: other, facts: { state: 'in_service' } })
    const change = { field: 'pvt_assigned_to', old: other, new: customer }
    expect(findings).toEqual([told('+14155550100', 'needs_hand', 'port_number_of_another', change)])
  })

  it('is kept whole, its files are listed, and its numbers are imported where no other document has them', () => {
    const numbers = { '+14155550101': { used_by: 'callflow' } }
    const { outcome, drafts, findings } = convertPortRequest(portRequest({ numbers }), contextOf())
    expect(outcome).toBe('kept')
    expect(findings).toEqual([
      {
        severity: 'left_out',
        code: 'file_left',
        database: 'port_requests',
        id: '9'.repeat(32),
        field: 'loa.pdf',
        old: '9 bytes',
      },
    ])
    expect(drafts).toEqual([
      {
        as: 'number_by_hearsay',
        accountId: customer,
        id: '+14155550101',
        created: 63_800_000_000,
        modified: 63_800_000_100,
        doc: { porting },
        facts: { state: 'port_in', carrier: 'knm_local', usedBy: '', hidden: { features: { local: {} } } },
        files: [],
      },
      {
        as: 'kazoo_kept',
        accountId: customer,
        id: `port_requests|${'9'.repeat(32)}`,
        created: 63_800_000_000,
        modified: 63_800_000_100,
        doc: {},
        facts: { type: 'port_request', text: portRequest({ numbers }).text },
        files: [],
      },
    ])
    expect(JSON.stringify([drafts[0], findings])).not.toContain('1234')
  })
})

describe('an entry of a pool', () => {
  const entry = (fields: Json = {}) =>
    kazooDocument('numbers/managed', {
      _id: '+14155550100',
      pvt_type: 'number',
      pvt_state: 'available',
      pvt_assigned_to: reseller,
      ...times,
      ...fields,
    })

  it.each([
    ['available', false],
    ['in_service', true],
  ])('that is %s is stock of its account, taken: %s', (pvt_state, isTaken) => {
    const { outcome, drafts } = convertPoolEntry(entry({ pvt_state }), 'managed', contextOf())
    expect(outcome).toBe('imported')
    expect(drafts).toEqual([
      {
        as: 'pool_number',
        accountId: reseller,
        id: '+14155550100',
        created: 63_800_000_000,
        modified: 63_800_000_100,
        doc: {},
        facts: { carrier: 'knm_managed', isTaken },
        files: [],
      },
    ])
  })

  it('of an account that does not come is left out', () => {
    expect(convertPoolEntry(entry({ pvt_assigned_to: gone }), 'inum', contextOf())).toMatchObject({
      outcome: 'skipped',
      drafts: [],
      findings: [{ severity: 'left_out', code: 'pool_owner_gone', field: 'pvt_assigned_to', old: gone }],
    })
  })

  it('goes back into its pool when the number is given up', () => {
    const pools = new Map(poolsIn(entry(), contextOf()))
    const { drafts } = convert(
      { pvt_state: 'in_service', pvt_assigned_to: customer, pvt_module_name: 'knm_managed' },
      { pools },
    )
    expect(drafts[0]?.facts).toMatchObject({ hidden: { carrierData: { pool: reseller } } })
  })
})

describe('a copy of a number in an account', () => {
  const database = `account/${other.slice(0, 2)}/${other.slice(2, 4)}/${other.slice(4)}`
  const copy = (fields: Json = {}) =>
    kazooDocument(database, {
      _id: '+14155550100',
      pvt_type: 'number',
      pvt_state: 'in_service',
      pvt_assigned_to: other,
      ...times,
      ...fields,
    })

  it.each([{ pvt_deleted: true }, { pvt_state: 'discovery' }])('is skipped with %j', (fields) => {
    const document = copy(fields)
    expect(convertCopy(document, other, contextOf())).toEqual({
      ...{ document, outcome: 'skipped', drafts: [], findings: [] },
    })
  })

  it('is taken where the database of its number is missing', () => {
    const { outcome, drafts, findings } = convertCopy(copy(), other, contextOf())
    expect(outcome).toBe('imported')
    expect(drafts[0]).toMatchObject({ as: 'number_by_hearsay', accountId: other, id: '+14155550100' })
    const change = { field: '_id', old: 'numbers/+1415', new: database }
    expect(findings).toEqual([
      { severity: 'repaired', code: 'number_from_copy', database, id: '+14155550100', ...change },
    ])
  })
})

describe('what leads somewhere', () => {
  it('is listed in callflows and trunks: extensions and words are no numbers', () => {
    const documents = [
      kazooDocument('a', {
        _id: '1',
        pvt_type: 'callflow',
        numbers: ['+14155550100', '(415) 555-0101', '2001', 'no_match', 7],
      }),
      kazooDocument('a', { _id: '2', pvt_type: 'callflow', pvt_deleted: true, numbers: ['+14155550109'] }),
      kazooDocument('a', {
        _id: '3',
        pvt_type: 'sys_info',
        servers: [{ DIDs: { '+14155550102': {} } }, { DIDs: [] }, {}],
      }),
      kazooDocument('a', { _id: '4', pvt_type: 'menu', numbers: ['+14155550103'] }),
    ]
    expect(usesIn(documents)).toEqual([
      ['+14155550100', 'callflow'],
      ['+14155550101', 'callflow'],
      ['+14155550102', 'trunkstore'],
    ])
  })
})
