import { once } from 'node:events'
import { get as httpGet } from 'node:http'
import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { countOf } from '../support/run/run-length.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const header =
  'id,call_id,caller_id_number,caller_id_name,callee_id_number,callee_id_name,duration_seconds,billing_seconds,' +
  'timestamp,hangup_cause,other_leg_call_id,owner_id,to,from,direction,request,authorizing_id,cost,dialed_number,' +
  'calling_from,datetime,unix_timestamp,unix_timestamp_micro,rfc_1036,iso_8601,iso_8601_combined,call_type,rate,' +
  'rate_name,bridge_id,recording_url,media_recordings,media_server,call_priority,interaction_id\r\n'

/** The first lines that differ: a difference of whole files would take minutes to print. */
const firstDifference = (a: string, b: string) => {
  const [left, right] = [a.split('\r\n'), b.split('\r\n')]
  const at = left.findIndex((line, index) => line !== right[index])
  if (at < 0 && left.length === right.length) return undefined
  return { at, left: left[at], right: right[at], lengths: [left.length, right.length] }
}

describeEngines('Call detail records as CSV', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let cdrs: string
  const now = () => nowOf(world)

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account)
    cdrs = `${account.path}/cdrs`
  })

  const send = (...legs: Json[]) => sendLegs(world, legs)
  const leg = (timestamp: number, more: Json = {}) => legOf(account, timestamp, more)

  const csv = (
    path: string,
    query: Record<string, string | number> = {},
    headers: Record<string, string> = {},
  ) => admin.get(path, { query: { accept: 'text/csv', ...query }, headers })

  const linesOf = (text: string) => text.split('\r\n').slice(1, -1)

  it('have a header line even when there are none', async () => {
    for (const path of [cdrs, `${cdrs}/interaction`])
      for (const paginate of ['true', 'false']) {
        const answer = await csv(path, { paginate })
        expect(answer.status).toBe(200)
        expect(answer.headers['content-type']).toBe('text/csv')
        expect(answer.text).toBe(header)
      }
  })

  it('are one line for each row, quoted as RFC 4180 says, with formulas neutralised', async () => {
    await send(
      leg(now(), {
        call_id: 'odd, "leg"\nof two lines',
        duration_seconds: 40,
        billing_seconds: 33,
        channel_created_time: 1_767_614_260_123_456,
        interaction_time: now() - 40,
        interaction_key: 'deadbeef',
        caller_id_number: '+493012345',
        caller_id_name: '=HYPERLINK("http://x")',
        callee_id_name: '',
        from: '+4930@acme.test',
        to: 'line\nbreak@acme.test',
        hangup_cause: '@SUM(1)',
        recording_url: '-1+2',
        custom_channel_vars: { media_recordings: ['a', 'b'], rate: 120, owner_id: '-5' },
      }),
    )
    const line =
      '"202601-odd, ""leg""\nof two lines","odd, ""leg""\nof two lines",+493012345,"\'=HYPERLINK(""http://x"")",,"",40,33,' +
      `${now() - 40},'@SUM(1),,-5,line break@acme.test,'+4930@acme.test,inbound,,,0,,+493012345,` +
      '2026-01-05 11:59:20,1767614360,1767614260.123456,"Mon, 05 Jan 2026 11:59:20 GMT",2026-01-05,' +
      `2026-01-05T11:59:20Z,,0.012,,,'-1+2,"[""a"",""b""]",,,${now() - 40}-deadbeef\r\n`
    for (const path of [cdrs, `${cdrs}/interaction`]) {
      expect((await csv(path)).text).toBe(header + line)
      expect((await csv(path, { paginate: 'false' })).text).toBe(header + line)
    }
  })

  it('tell the key of the next page in a header', async () => {
    await send(leg(now()), leg(now() - 1), leg(now() - 2))
    const first = await csv(cdrs, { page_size: 2 })
    expect(linesOf(first.text)).toHaveLength(2)
    const second = await csv(cdrs, { page_size: 2, start_key: first.headers['x-next-start-key'] as string })
    expect(linesOf(second.text)).toHaveLength(1)
    expect(second.headers['x-next-start-key']).toBeUndefined()
    const whole = await csv(cdrs, { paginate: 'false' })
    expect(linesOf(whole.text)).toEqual([...linesOf(first.text), ...linesOf(second.text)])
  })

  it('are all in one answer without pages, in the order and with the filters of the list', async () => {
    const legs = Array.from({ length: 2400 }, (_, index) =>
      leg(now() - (index % 300) - (index % 2) * 20 * 86_400, {
        call_direction: index % 3 === 0 ? 'outbound' : 'inbound',
        app_name: index % 5 === 0 ? 'x' : 'y',
      }),
    )
    await send(...legs)
    const queries = [
      {},
      { ascending: 'true' },
      { filter_call_direction: 'outbound' },
      { filter_app_name: 'x' },
      { filter_app_name: 'x', filter_call_direction: 'outbound', ascending: 'true' },
      { utc_offset: 3600 },
    ]
    for (const path of [cdrs, `${cdrs}/interaction`])
      for (const query of queries) {
        const whole = await csv(path, { ...query, paginate: 'false' })
        const page = await csv(path, { ...query, page_size: 5000 })
        expect([path, query, firstDifference(whole.text, page.text)]).toEqual([path, query, undefined])
        const rows = (await admin.get(path, { query: { ...query, paginate: 'false' } })).data
        const ids = linesOf(whole.text).map((line) => line.split(',', 1)[0])
        expect(ids).toEqual(rows.map(({ id }: Json) => id))
      }
  })

  it('bear the name that the client wants', async () => {
    const name = async (query: Record<string, string>, headers: Record<string, string>) => [
      (await csv(cdrs, query, headers)).headers['content-disposition'],
      (await csv(cdrs, { ...query, paginate: 'false' }, headers)).headers['content-disposition'],
    ]
    const both = (file: string) => Array(2).fill(`attachment; filename="${file}"`)
    expect(await name({ file_name: 'calls.csv' }, { 'x-file-name': '../x.csv' })).toEqual(both('x.csv'))
    expect(await name({ file_name: 'calls.csv' }, {})).toEqual(both('calls.csv'))
    expect(await name({}, {})).toEqual(both('result.csv'))
  })

  it('hold only the fields asked for', async () => {
    await send(leg(now(), { call_id: 'a', hangup_cause: 'NORMAL_CLEARING' }))
    const answer = await csv(cdrs, { fields: '["hangup_cause"]' })
    expect(answer.text).toBe('id,hangup_cause\r\n202601-a,NORMAL_CLEARING\r\n')
  })

  it('are refused before a line is sent when the range is wrong', async () => {
    expect(await csv(cdrs, { created_from: 1, paginate: 'false' })).toBreak({ created_from: ['date_range'] })
  })

  it('answer HEAD with the head alone', async () => {
    await send(leg(now()))
    const answer = await admin.head(cdrs, { query: { accept: 'text/csv', paginate: 'false' } })
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('')
  })

  it('are read no further when the client goes away', async () => {
    const name = 'x'.repeat(5000)
    const rows = countOf(200, 1000)
    for (let batch = 0; batch < 12; batch += 1)
      await send(...Array.from({ length: rows }, (_, index) => leg(now() - index, { caller_id_name: name })))
    const { store } = world.server
    const { csvLines: read, linesAtOnce } = store
    store.linesAtOnce = rows
    let texts = 0
    store.csvLines = (...question) => {
      texts += 1
      return read(...question)
    }
    const request = httpGet({
      port: world.server.port,
      host: '127.0.0.1',
      path: `${cdrs}?paginate=false&accept=text/csv`,
      headers: { 'x-auth-token': admin.token },
    })
    const [response] = await once(request, 'response')
    response.once('data', () => response.destroy())
    await once(response, 'close')
    const whole = (await csv(cdrs, { paginate: 'false' })).text.length
    expect(whole).toBeGreaterThan(12 * rows * 5000)
    const forBoth = texts
    texts = 0
    await csv(cdrs, { paginate: 'false' })
    expect(texts).toBeGreaterThan(5)
    expect(forBoth).toBeLessThan(2 * texts)
    Object.assign(store, { csvLines: read, linesAtOnce })
  })
})
