import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { storedCdrs, storedRows } from '../support/world/stored-cdrs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

// 2026-01-04T22:40:00Z, the day before the tests' own.
const yesterday = 63_934_785_600

const ndjson = { 'content-type': 'application/x-ndjson' }

const linesOf = (records: readonly unknown[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')

const nothing = { accepted: 0, duplicates: 0, ignored: 0, rejected: [], rejected_total: 0 }

describeAnyEngine('Call detail records that are sent in', (engine) => {
  const world = useWorld(engine)
  let made = 0

  const legOf = (more: Json = {}): Json & { call_id: string } => {
    made += 1
    return {
      call_id: `leg-${made}`,
      timestamp: yesterday + made,
      duration_seconds: Math.max(30, Number(more.billing_seconds ?? 0)),
      custom_channel_vars: { account_id: world.acme.id },
      ...more,
    }
  }

  const sendLines = (text: string | Buffer, by = world.operator) =>
    by.put('/v2/cdrs', undefined, { body: Buffer.from(text), headers: ndjson })

  const send = (...records: unknown[]) => sendLines(linesOf(records))

  const documentOf = async (callId: string) =>
    (await storedCdrs(world.server.store)).find(({ call_id: id }) => id === callId)

  const rowOf = async (callId: string) =>
    (await storedRows(world.server.store)).find(({ id }) => id.slice(7) === callId)

  it('are taken one JSON object a line', async () => {
    const answer = await send(legOf(), legOf(), legOf())
    expect(answer).toSucceedWith({ ...nothing, accepted: 3 })
  })

  it('lose integers that a number does not hold exactly', async () => {
    const line = (value: string) =>
      JSON.stringify(legOf()).replace('"duration_seconds":30', `"duration_seconds":30,"mine":${value}`)
    const values = ['9007199254740991', '9007199254740993', '9007199254740993.0', '1.5']
    const answer = await sendLines(values.map(line).join('\n'))
    expect(answer).toSucceedWith({ ...nothing, accepted: 4 })
    const kept = await Promise.all([3, 2, 1, 0].map((back) => documentOf(`leg-${made - back}`)))
    expect(kept.map((record) => record?.mine)).toEqual([9_007_199_254_740_991, undefined, undefined, 1.5])
  })

  it('are taken as a list', async () => {
    expect(await world.operator.put('/v2/cdrs', [legOf(), legOf()])).toSucceedWith({
      ...nothing,
      accepted: 2,
    })
  })

  it('are taken from the API key of the master account', async () => {
    const key = await world.keyHolder(world.master)
    expect(await key.put('/v2/cdrs', [legOf()])).toSucceedWith({ ...nothing, accepted: 1 })
  })

  it('are accepted only from the operator', async () => {
    const body = linesOf([legOf()])
    for (const by of [world.ada, world.uli, world.ross, world.acmeKey]) {
      const answer = await world.unchanged(() => sendLines(body, by as typeof world.operator))
      expect(answer).toFailWith(403, 'forbidden')
      expect(await world.unchanged(() => by.put('/v2/cdrs', [legOf()]))).toFailWith(403, 'forbidden')
    }
    expect(await world.unchanged(() => world.anonymous.put('/v2/cdrs', [legOf()]))).toFailWith(
      401,
      'invalid_credentials',
    )
  })

  it('are kept whole', async () => {
    const sent = legOf({
      call_direction: 'inbound',
      billing_seconds: 20,
      ringing_seconds: 5,
      channel_created_time: 1_767_566_000_123_456,
      interaction_id: `${yesterday}-1a2b3c4d`,
      caller_id_name: 'Łukasz "Lucky" O’Neil, Jr.',
      caller_id_number: '+48221234567',
      callee_id_name: '',
      from: 'a@b.test',
      to: 'c@d.test',
      from_uri: 'a@b.test',
      to_uri: 'c@d.test',
      request: 'c@d.test',
      hangup_cause: 'NORMAL_CLEARING',
      other_leg_call_id: 'other',
      recording_url: 'https://example.test/r.mp3',
      media_server: 'fs1',
      local_sdp: 'v=0\r\ns=-\r\n',
      fax_t38: true,
      custom_sip_headers: { in: { 'X-Tenant': 'blue', 'X-Count': 7 } },
      custom_application_vars: { campaign: { name: 'spring', tags: ['a', 'b'] } },
      unheard_of: [1, { two: 2 }, null, false],
      custom_channel_vars: {
        account_id: world.acme.id,
        owner_id: world.uli.id,
        authorizing_id: 'phone',
        account_billing: 'per_minute',
        reseller_billing: 'flat_rate',
        rate: 120,
        rate_name: 'us',
        bridge_id: 'bridge',
        call_priority: '5',
        resource_id: 'carrier',
        media_recordings: ['one', 'two'],
        something_else: { deep: true },
      },
    })
    expect(await send(sent)).toSucceedWith({ ...nothing, accepted: 1 })
    expect(await documentOf(sent.call_id)).toEqual({
      ...sent,
      id: `202601-${sent.call_id}`,
      interaction_time: yesterday,
      interaction_key: '1a2b3c4d',
    })
  })

  it('change nothing when they are sent again', async () => {
    const [one, two, three] = [legOf(), legOf(), legOf()]
    await send(one, two)
    expect(await world.unchanged(() => send(one, two))).toSucceedWith({ ...nothing, duplicates: 2 })
    const changed = { ...one, hangup_cause: 'USER_BUSY' }
    expect(await send(changed, three)).toSucceedWith({ ...nothing, accepted: 1, duplicates: 1 })
    expect(await documentOf(one.call_id)).not.toHaveProperty('hangup_cause')
  })

  it('count once when one body holds them twice', async () => {
    const leg = legOf()
    expect(await send(leg, legOf(), leg)).toSucceedWith({ ...nothing, accepted: 2, duplicates: 1 })
  })

  it('are separate in each account: the same call id in two accounts makes two records', async () => {
    const mine = legOf()
    const theirs = { ...mine, custom_channel_vars: { account_id: world.rival.id } }
    expect(await send(mine, theirs)).toSucceedWith({ ...nothing, accepted: 2 })
  })

  it('tell bad lines by number and reason, and take the others', async () => {
    const lines = [
      JSON.stringify(legOf()),
      '{"call_id": ',
      '',
      '[]',
      JSON.stringify({ ...legOf(), call_id: undefined }),
      JSON.stringify(legOf({ custom_channel_vars: {} })),
      JSON.stringify(legOf({ custom_channel_vars: { account_id: '0'.repeat(32) } })),
      JSON.stringify(legOf({ duration_seconds: -1 })),
      JSON.stringify(legOf({ timestamp: undefined })),
      JSON.stringify(legOf({ timestamp: 1_767_566_000 })),
      JSON.stringify(legOf({ timestamp: yesterday + 30 * 86_400 })),
      JSON.stringify(legOf()),
    ]
    const answer = await sendLines(`\ufeff${lines.join('\r\n')}`)
    expect(answer.data.rejected.map(({ line }: { line: number }) => line)).toEqual([
      2, 4, 5, 6, 7, 8, 9, 10, 11,
    ])
    const reasons = answer.data.rejected.map(({ reason }: { reason: string }) => reason)
    expect(reasons.slice(1)).toEqual([
      'a record must be an object',
      'call_id: Field is required but missing',
      'custom_channel_vars.account_id: is missing',
      'custom_channel_vars.account_id: there is no such account',
      expect.stringMatching(/^duration_seconds: /),
      'timestamp: is missing. Send timestamp, interaction_id or channel_created_time',
      'interaction_time: before the year 2000; use Gregorian seconds',
      'interaction_time: is in the future',
    ])
    expect(answer).toSucceedWith({ ...nothing, accepted: 2, rejected: expect.anything(), rejected_total: 9 })
  })

  it('are stored without what no store keeps, however it is written', async () => {
    const lineWith = (member: string) => `${JSON.stringify(legOf()).slice(0, -1)},${member}}`
    const nested = (levels: number) => `"nested":{"other":${'['.repeat(levels)}${']'.repeat(levels)}}`
    const members = [
      '"to":"a\\u0000b"',
      '"to":"\\ud83d"',
      '"\\udc00":"a"',
      '"other":{"size":1e999}',
      nested(63),
      nested(20_000),
      '"to":"\\ud83d\\ude00 \\u00e4"',
    ]
    const answer = await sendLines(`${members.map(lineWith).join('\n')}\n`)
    expect(answer).toSucceedWith({ ...nothing, accepted: members.length })
    const stored = await Promise.all(
      members.map((_, at) => documentOf(`leg-${made - members.length + 1 + at}`)),
    )
    const [nul, half, key, number, deep, deeper, sound] = stored
    expect([nul?.to, half?.to, sound?.to]).toEqual(['a\ufffdb', '\ufffd', '\u{1f600} ä'])
    expect([key?.['\ufffd'], number?.other]).toEqual(['a', {}])
    // 61 lists around the one that is too deep.
    const kept = `{"other":${'['.repeat(62)}null${']'.repeat(62)}}`
    expect([deep, deeper].map((record) => JSON.stringify(record?.nested))).toEqual([kept, kept])
  })

  it('lose a __proto__ key at any depth', async () => {
    const leg = legOf()
    const line = `${JSON.stringify(leg).slice(0, -1)},"__proto__":{"a":1},"other":{"__proto__":{"a":1},"b":2}}`
    expect(await sendLines(line)).toSucceedWith({ ...nothing, accepted: 1 })
    const stored = (await documentOf(leg.call_id)) ?? {}
    expect(stored.other).toEqual({ b: 2 })
    expect(Object.keys(stored)).not.toContain('__proto__')
  })

  it('name headers and kinds of resources as they are named', async () => {
    const headers = (given: Json) => legOf({ custom_sip_headers: given })
    const resource = (resource_type: string) =>
      legOf({ custom_channel_vars: { account_id: world.acme.id, resource_type } })
    const kinds = ['offnet-origination', 'offnet-termination', 'onnet-origination', 'onnet-termination']
    const good = [headers({ in: { 'X-A_1': 'a' }, out: { b: true, c: 7 } }), ...kinds.map(resource)]
    expect(await send(...good)).toSucceedWith({ ...nothing, accepted: good.length })
    const bad = [
      headers({ in: { 'X A': 'a', 'X-B': 'b' } }),
      headers({ out: { 'X-A': { b: 1 } } }),
      headers({ in: 'X-A' }),
      resource('sideways'),
    ]
    expect(await send(...bad)).toSucceedWith({ ...nothing, accepted: bad.length })
    const stored = await Promise.all(bad.map(({ call_id: id }) => documentOf(id)))
    expect(stored.map((record) => record?.custom_sip_headers)).toEqual([
      { in: { 'X-B': 'b' } },
      { out: {} },
      {},
      undefined,
    ])
    expect(stored[3]?.custom_channel_vars).toEqual({ account_id: world.acme.id })
  })

  it('may have lines in another encoding than UTF-8', async () => {
    const line = Buffer.from(`${JSON.stringify(legOf({ caller_id_name: 'Müller' }))}\n`)
    const leg = legOf({ caller_id_name: 'Müller' })
    const other = Buffer.from(`${JSON.stringify(leg)}\n`, 'latin1')
    expect(await sendLines(Buffer.concat([line, other]))).toSucceedWith({ ...nothing, accepted: 2 })
    expect((await documentOf(leg.call_id))?.caller_id_name).toBe('M\ufffdller')
  })

  it('tell bad records of a list by their place, and take the others', async () => {
    const answer = await world.operator.put('/v2/cdrs', [
      legOf(),
      5,
      null,
      legOf({ billing_seconds: -1 }),
      legOf(),
    ])
    expect(answer).toSucceedWith({
      ...nothing,
      accepted: 2,
      rejected: [
        { line: 2, reason: 'a record must be an object' },
        { line: 3, reason: 'a record must be an object' },
        { line: 4, reason: 'billing_seconds: Value must be at least 0' },
      ],
      rejected_total: 3,
    })
  })

  it('must be a list when they come as JSON', async () => {
    const answer = await world.unchanged(() => world.operator.put('/v2/cdrs', legOf()))
    expect(answer).toFailWith(400, 'validation error')
    expect(answer.data).toEqual({
      data: { type: { message: 'Value did not match type(s): array', target: 'array' } },
    })
  })

  it.each([['application/json'], ['application/x-ndjson']])(
    'must be in the body when it is %s',
    async (type) => {
      const answer = await world.refused(() =>
        world.operator.put('/v2/cdrs', undefined, {
          body: Buffer.alloc(0),
          headers: { 'content-type': type },
        }),
      )
      expect([answer.status, answer.data]).toEqual([
        400,
        { data: { required: { message: 'The body is empty' } } },
      ])
    },
  )

  it('are not taken in other forms', async () => {
    const answer = await world.operator.put('/v2/cdrs', undefined, {
      body: Buffer.from('a,b\n'),
      headers: { 'content-type': 'text/csv' },
    })
    expect(answer.status).toBe(415)
  })

  it('of a line that is too long are rejected without being read into memory', async () => {
    const long = JSON.stringify(legOf({ caller_id_name: 'x'.repeat(600_000) }))
    const last = legOf()
    const answer = await sendLines(`${linesOf([legOf()])}${long}\n${JSON.stringify(last)}`)
    expect(answer).toSucceedWith({
      ...nothing,
      accepted: 2,
      rejected: [{ line: 2, reason: 'the line is longer than 262144 bytes' }],
      rejected_total: 1,
    })
    expect(await documentOf(last.call_id)).toMatchObject(last)
  })

  it('of thousands of bad lines tell the first thousand, and count the rest', async () => {
    const answer = await sendLines('nonsense\n'.repeat(1500))
    expect(answer.data.rejected).toHaveLength(1000)
    expect(answer.data.rejected_total).toBe(1500)
  })

  it('come in their thousands, over batches and pieces of the body', async () => {
    const records = Array.from({ length: 2600 }, () => legOf({ caller_id_name: 'ü'.repeat(40) }))
    expect(await send(...records)).toSucceedWith({ ...nothing, accepted: 2600 })
    expect(await send(...records, legOf())).toSucceedWith({ ...nothing, accepted: 1, duplicates: 2600 })
  })

  it('are what they were, though some wait while others are written', async () => {
    // More than four transactions, of texts of one and of several bytes a letter, short and long ones.
    const count = 8500
    const nameOf = (index: number) =>
      `${index} ${['Anna', 'Zoë Groß', '佐藤', '🦉'][index % 4]?.repeat(index % 9)}`
    const custom = (index: number) => 'ü'.repeat(index % 2500 === 7 ? 50_000 : index % 40)
    const records = Array.from({ length: count }, (_, index) =>
      legOf({
        call_id: `wait-${index}`,
        caller_id_name: nameOf(index),
        billing_seconds: index,
        note: custom(index),
      }),
    )
    expect(await send(...records)).toSucceedWith({ ...nothing, accepted: count })
    const rows = (await storedRows(world.server.store)).filter(({ id }) => id.slice(7).startsWith('wait-'))
    const inOrder = rows.toSorted((a, b) => (a.billing_seconds ?? 0) - (b.billing_seconds ?? 0))
    expect(
      inOrder.map(({ id, caller_id_name, created, rest }) => [id.slice(7), caller_id_name, created, rest]),
    ).toEqual(
      records.map(({ call_id, timestamp }, index) => [
        call_id,
        nameOf(index),
        timestamp,
        JSON.stringify({ note: custom(index) }),
      ]),
    )
  })

  it('are stored once when two send them at the same time', async () => {
    const records = Array.from({ length: 800 }, () => legOf())
    const answers = await Promise.all([send(...records), send(...records.toReversed()), send(...records)])
    const sum = (key: string) => answers.reduce((total, { data }) => total + data[key], 0)
    expect([sum('accepted'), sum('duplicates')]).toEqual([800, 1600])
    const ids = new Set(records.map(({ call_id: id }) => id))
    const stored = (await storedRows(world.server.store)).filter(({ id }) => ids.has(id.slice(7)))
    expect(stored).toHaveLength(800)
  })

  it('are written in texts where numbers are meant, as elsewhere', async () => {
    const leg = legOf({ duration_seconds: '45', timestamp: String(yesterday) })
    await send(leg)
    expect(await documentOf(leg.call_id)).toMatchObject({ duration_seconds: 45, timestamp: yesterday })
  })

  it('leave out what is null', async () => {
    const leg = legOf({
      hangup_cause: null,
      custom_channel_vars: { account_id: world.acme.id, owner_id: null },
    })
    await send(leg)
    const stored = await documentOf(leg.call_id)
    expect(stored).not.toHaveProperty('hangup_cause')
    expect(stored?.custom_channel_vars).toEqual({ account_id: world.acme.id })
  })

  it('lose private keys, credentials and what the call cost the carrier before they are stored', async () => {
    const leg = legOf({
      _id: 'x',
      pvt_type: 'cdr',
      password: 'p',
      auth_token: 't',
      custom_application_vars: { acl_token: 'a', kept: 1 },
      custom_channel_vars: {
        account_id: world.acme.id,
        pvt_cost: 500,
        _rev: '1',
        cost: 40_004_000_400,
        sip_password: 's',
        last_arg: '[secret]sofia/x',
        kept: 2,
      },
    })
    await send(leg)
    const text = JSON.stringify(
      (await storedRows(world.server.store)).find(({ id }) => id.endsWith(leg.call_id)),
    )
    expect(text).not.toMatch(/pvt_|_rev|password|token|last_arg|40004000400/)
    const stored = await documentOf(leg.call_id)
    expect(stored?.custom_application_vars).toEqual({ kept: 1 })
    expect(stored?.custom_channel_vars).toEqual({ account_id: world.acme.id, kept: 2 })
  })

  it('keep id, month and interaction together when a call continues past the end of a month', async () => {
    // Begun 2025-12-31T23:59:50Z, ended in January.
    const begun = 63_934_444_790
    const leg = legOf({ timestamp: begun + 600, duration_seconds: 600, interaction_id: `${begun}-edge` })
    const alone = legOf({ timestamp: begun + 600, duration_seconds: 600 })
    await send(leg, alone)
    expect((await documentOf(leg.call_id))?.id).toBe(`202512-${leg.call_id}`)
    expect(await documentOf(alone.call_id)).toMatchObject({
      id: `202512-${alone.call_id}`,
      interaction_time: begun,
      timestamp: begun + 600,
    })
  })

  it('cost what their rate says, in units, once they are billed by the minute', async () => {
    const billed = (seconds: number, vars: Json = {}) =>
      legOf({
        billing_seconds: seconds,
        custom_channel_vars: {
          account_id: world.acme.id,
          account_billing: 'per_minute',
          rate: 120,
          rate_increment: 6,
          rate_minimum: 60,
          surcharge: 0,
          ...vars,
        },
      })
    const legs = [
      billed(61),
      billed(60),
      billed(0),
      billed(4, { rate_nocharge_time: 5 }),
      billed(61, { account_billing: 'flat_rate' }),
      billed(61, { account_billing: 'flat_rate', reseller_billing: 'per_minute' }),
      billed(71, { billing_seconds_offset: 10 }),
      billed(61, { discount_percentage: 15 }),
    ]
    await send(...legs)
    const costs = []
    for (const { call_id } of legs) {
      const row = await rowOf(call_id)
      costs.push([row?.cost, row?.reseller_cost])
    }
    expect(costs).toEqual([
      [132, 0],
      [120, 0],
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 132],
      [132, 0],
      [113, 0],
    ])
  })

  it('of loopback channels are known by their letter', async () => {
    const legs = [
      legOf({ channel_name: 'loopback/1001-a' }),
      legOf({ channel_is_loopback: true, channel_loopback_leg: 'B' }),
      legOf({ channel_is_loopback: true }),
      legOf({ channel_name: 'sofia/internal/1001-b' }),
    ]
    await send(...legs)
    const letters = []
    for (const { call_id } of legs) letters.push((await rowOf(call_id))?.loopback_leg)
    expect(letters).toEqual(['A', 'B', '', null])
  })

  it('of test applications and of loopback legs that bowed out are ignored, as the settings say', async () => {
    const test = () =>
      legOf({ custom_channel_vars: { account_id: world.acme.id, application_name: 'milliwatt' } })
    const bowout = () => legOf({ channel_is_loopback: true, channel_loopback_bowout: true })
    expect(await world.unchanged(() => send(test(), bowout()))).toSucceedWith({ ...nothing, ignored: 2 })
    await world.configure('cdr', { ignore_apps: ['echo'], ignore_loopback_bowout: false })
    expect(await send(test(), bowout())).toSucceedWith({ ...nothing, accepted: 2 })
    await world.configure('cdr', { ignore_apps: ['milliwatt'], ignore_loopback_bowout: true })
  })

  it('are one audit entry for each account and batch', async () => {
    const { store } = world.server
    const entries = () =>
      store.all<{ account_id: string; action: string; after_doc: string }>(
        "SELECT account_id, action, after_doc FROM audit_log WHERE kind = 'cdrs' ORDER BY id",
      )
    const before = (await entries()).length
    const mine = [legOf(), legOf()]
    const theirs = legOf({ custom_channel_vars: { account_id: world.rival.id } })
    await send(...mine, theirs)
    const added = (await entries()).slice(before)
    expect(added.map((entry) => ({ ...entry, after_doc: JSON.parse(entry.after_doc) }))).toEqual([
      {
        account_id: world.acme.id,
        action: 'created',
        after_doc: { records: 2, first: `202601-${mine[0]?.call_id}`, last: `202601-${mine[1]?.call_id}` },
      },
      {
        account_id: world.rival.id,
        action: 'created',
        after_doc: { records: 1, first: `202601-${theirs.call_id}`, last: `202601-${theirs.call_id}` },
      },
    ])
  })

  it('do not wait together in any length, whether they have a price or are to get one', async () => {
    const { store } = world.server
    const counts = async () => {
      const rows = await store.all<{ after_doc: string }>(
        "SELECT after_doc FROM audit_log WHERE kind = 'cdrs' ORDER BY id",
      )
      return rows.map(({ after_doc }) => JSON.parse(after_doc).records as number)
    }
    const note = 'x'.repeat(200_000)
    const { id } = world.acme
    for (const more of [
      { note },
      { note, billing_seconds: 5, custom_channel_vars: { account_id: id, account_billing: 'per_minute' } },
    ]) {
      const before = (await counts()).length
      const lines = Array.from({ length: 90 }, () => JSON.stringify(legOf(more)))
      expect(await sendLines(`${lines.join('\n')}\n`)).toSucceedWith({ ...nothing, accepted: 90 })
      const together = Math.ceil((16 << 20) / (lines[0] as string).length)
      expect((await counts()).slice(before)).toEqual([together, 90 - together])
    }
  })

  it('that were stored before the body broke off stay, and can be sent again', async () => {
    await world.configure('crossbar', { max_streamed_size: 200_000 })
    const records = Array.from({ length: 1500 }, () => legOf({ caller_id_name: 'x'.repeat(100) }))
    const answer = await send(...records)
    await world.configure('crossbar', { max_streamed_size: 4_000_000_000 })
    expect(answer.status).toBe(413)
    const again = (await send(...records)).data
    expect(again.accepted + again.duplicates).toBe(1500)
  })
})
