// Endpoints: call detail records.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const hour = 3600

const emptyColumns = [
  ...['caller_id_name', 'callee_id_name', 'billing_seconds', 'hangup_cause', 'other_leg_call_id'],
  ...['to', 'from', 'request', 'authorizing_id', 'call_type', 'rate', 'rate_name', 'bridge_id'],
  ...['recording_url', 'media_server', 'call_priority'],
]

describeAnyEngine('Endpoints: call detail records', (engine) => {
  const world = useWorld(engine)

  /** An account with a user and these calls, told by the seconds since each; the last of them is the user's. */
  const called = async (...ages: number[]) => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const legs = ages.map((age, index) =>
      legOf(account, nowOf(world) - age, {
        call_id: `call-${index}`,
        caller_id_number: '2001',
        callee_id_number: '2002',
        interaction_key: 'cafe0001',
        interaction_time: nowOf(world) - Math.max(...ages) - 30,
        ...(index === ages.length - 1 ? { custom_channel_vars: { owner_id: user.id } } : {}),
      }),
    )
    await sendLegs(world, legs)
    const admin = await world.admin(account)
    return { account, admin, user, path: `${account.path}/cdrs` }
  }

  /** The one call of an account, a minute ago: as it is listed. */
  const rowOf = (accountId: string, ownerId: string) => ({
    id: '202601-call-0',
    call_id: 'call-0',
    ...recordFields(accountId, ownerId),
    timestamp: String(nowOf(world) - 90),
    datetime: '2026-01-05 11:58:30',
    unix_timestamp: '1767614310',
    unix_timestamp_micro: '1767614310.000000',
    rfc_1036: 'Mon, 05 Jan 2026 11:58:30 GMT',
    iso_8601: '2026-01-05',
    iso_8601_combined: '2026-01-05T11:58:30Z',
    direction: 'inbound',
    owner_id: ownerId,
    calling_from: '2001',
    dialed_number: '',
    cost: '0',
    media_recordings: [],
    ...Object.fromEntries(emptyColumns.map((name) => [name, ''])),
  })

  const recordFields = (accountId: string, ownerId: string) => ({
    caller_id_number: '2001',
    callee_id_number: '2002',
    call_direction: 'inbound',
    duration_seconds: 30,
    interaction_id: `${nowOf(world) - 90}-cafe0001`,
    interaction_key: 'cafe0001',
    interaction_time: nowOf(world) - 90,
    custom_channel_vars: { account_id: accountId, owner_id: ownerId },
  })

  const idsIn = ({ data }: { data: Json[] }) => data.map(({ call_id }) => call_id)

  it('call detail records are for their own account and those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/cdrs'],
      ['GET', '/v2/accounts/{account_id}/cdrs/{cdr_id}'],
      ['GET', '/v2/accounts/{account_id}/cdrs/interaction'],
      ['GET', '/v2/accounts/{account_id}/cdrs/legs/{interaction_id}'],
      ['GET', '/v2/accounts/{account_id}/users/{user_id}/cdrs'],
    ]))

  it('GET …/cdrs: an array of CDR', async () => {
    const { account, admin, user, path } = await called(60)
    expect(said(await admin.get(path))).toEqual({
      status: 200,
      data: [rowOf(account.id, user.id)],
      metadata: {},
      page_size: 1,
    })
  })

  it('GET …/cdrs with created_from, created_to: Gregorian seconds', async () => {
    const { admin, path } = await called(3 * hour, 2 * hour, hour)
    const query = { created_from: nowOf(world) - 2.5 * hour, created_to: nowOf(world) - 1.5 * hour }
    expect(idsIn(await admin.get(path, { query }))).toEqual(['call-1'])
  })

  it('GET …/cdrs with utc_offset: datetime fields in local time, timestamps stay Gregorian', async () => {
    const { admin, path } = await called(60)
    const [row] = (await admin.get(path)).data
    const [local] = (await admin.get(path, { query: { utc_offset: 2 * hour } })).data
    expect([row.datetime, local.datetime]).toEqual(['2026-01-05 11:58:30', '2026-01-05 13:58:30'])
    expect(local).toMatchObject({ timestamp: row.timestamp, unix_timestamp: row.unix_timestamp })
  })

  it('GET …/cdrs with page_size, start_key: pages, joined by next_start_key', async () => {
    const { admin, path } = await called(3 * hour, 2 * hour, hour)
    const first = await admin.get(path, { query: { page_size: 2 } })
    expect(idsIn(first)).toEqual(['call-2', 'call-1'])
    expect(first.body.page_size).toBe(2)
    const { next_start_key } = first.body
    const last = await admin.get(path, { query: { page_size: 2, start_key: String(next_start_key) } })
    expect(idsIn(last)).toEqual(['call-0'])
    expect(last.body).not.toHaveProperty('next_start_key')
  })

  it('GET …/cdrs with Accept: text/csv: CSV, named by X-File-Name or file_name', async () => {
    const { admin, path } = await called(60)
    const read = (options: object) => admin.get(path, { headers: { accept: 'text/csv' }, ...options })
    const named = [
      await read({ query: { file_name: 'calls.csv' } }),
      await read({ headers: { accept: 'text/csv', 'x-file-name': 'calls.csv' } }),
    ]
    for (const { status, headers, text } of named) {
      expect([status, headers['content-type']]).toEqual([200, 'text/csv'])
      expect(headers['content-disposition']).toBe('attachment; filename="calls.csv"')
      const [header = '', ...rows] = text.trim().split('\r\n')
      expect(header.split(',').slice(0, 2)).toEqual(['id', 'call_id'])
      expect(rows.map((row) => row.split(',')[1])).toEqual(['call-0'])
    }
  })

  it('GET …/cdrs/{cdr_id}: one CDR', async () => {
    const { account, admin, user, path } = await called(60)
    expect(said(await admin.get(`${path}/202601-call-0`))).toEqual({
      status: 200,
      data: {
        id: '202601-call-0',
        call_id: 'call-0',
        timestamp: nowOf(world) - 60,
        ...recordFields(account.id, user.id),
      },
      metadata: {},
    })
    expect(said(await admin.get(`${path}/202601-unheard-of`))).toEqual(
      saidError(404, 'bad_identifier', { message: 'bad identifier', cause: '202601-unheard-of' }),
    )
  })

  it('GET …/cdrs/interaction: one record for the CDRs that interacted', async () => {
    const { admin, path } = await called(120, 60)
    const [, first] = (await admin.get(path)).data
    expect(said(await admin.get(`${path}/interaction`))).toEqual({
      status: 200,
      data: [first],
      metadata: {},
      page_size: 1,
    })
  })

  it('GET …/cdrs/legs/{interaction_id}: the legs of the interaction', async () => {
    const { admin, path } = await called(120, 60)
    const legs = ['202601-call-1', '202601-call-0'].map((id) => admin.get(`${path}/${id}`))
    const records = (await Promise.all(legs)).map(({ data }) => data)
    expect(said(await admin.get(`${path}/legs/${records[0].interaction_id}`))).toEqual({
      status: 200,
      data: records,
      metadata: {},
    })
  })

  it('GET …/users/{user_id}/cdrs: the CDRs of that user', async () => {
    const { admin, user, path } = await called(120, 60)
    const [own] = (await admin.get(path)).data
    expect(said(await admin.get(`${user.path}/cdrs`))).toEqual({
      status: 200,
      data: [own],
      metadata: {},
      page_size: 1,
    })
  })
})
