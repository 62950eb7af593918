// Compressed answers: which are compressed, which never are, and that their content is the same.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const opened: Record<string, (bytes: Buffer) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}
const codings = Object.keys(opened)

describeAnyEngine('compressed answers', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let cdrs: string

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account)
    cdrs = `${account.path}/cdrs`
  })

  const fill = async (count: number, more: Json = {}) => {
    const legs = Array.from({ length: count }, (_, index) => legOf(account, nowOf(world) - index, more))
    for (let from = 0; from < count; from += 1000) await sendLegs(world, legs.slice(from, from + 1000))
  }

  const open = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const asked = request({
      port: world.server.port,
      host: '127.0.0.1',
      path,
      method,
      agent: false,
      headers: { 'x-auth-token': admin.token, 'x-request-id': 'the-same', ...headers },
    })
    asked.on('error', () => undefined)
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return { asked, response }
  }

  const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const { response } = await open(path, headers, method)
    const bytes = await buffer(response)
    const coding = response.headers['content-encoding']
    const body = coding === undefined ? bytes : (opened[coding] as (bytes: Buffer) => Buffer)(bytes)
    return { status: response.statusCode, headers: response.headers, coding, bytes, text: body.toString() }
  }

  const withoutTimes = (text: string) =>
    text.replace(/"timestamp":\s*"[^"]*"/g, '').replace(/"tokens":\{[^}]*\}/, '')

  it.each([
    ['a page', '?page_size=200'],
    ['an indented page', '?page_size=200&pretty_print=true'],
    ['a page that is too large to be kept', '?page_size=2000'],
    ['a whole list', '?paginate=false'],
    ['an indented whole list', '?paginate=false&pretty_print=true'],
    ['a page of CSV', '?page_size=200&accept=text/csv'],
    ['a whole list as CSV', '?paginate=false&accept=text/csv'],
    ['a filtered whole list as CSV', '?paginate=false&accept=text/csv&filter_call_direction=inbound'],
  ])('say the same as %s that is not', async (_name, query) => {
    await fill(1200, { caller_id_name: 'Magdalena Hofer'.repeat(40) })
    const plain = await ask(cdrs + query)
    expect(plain).toMatchObject({ status: 200, coding: undefined, headers: { vary: 'Accept-Encoding' } })
    expect(plain.bytes.length).toBeGreaterThan(50_000)
    for (const coding of codings) {
      const answer = await ask(cdrs + query, { 'accept-encoding': coding })
      expect(answer).toMatchObject({ status: 200, coding, headers: { vary: 'Accept-Encoding' } })
      expect(withoutTimes(answer.text) === withoutTimes(plain.text), `${coding} says something else`).toBe(
        true,
      )
      expect(answer.headers['content-type']).toBe(plain.headers['content-type'])
      expect(answer.headers['content-disposition']).toBe(plain.headers['content-disposition'])
      expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 3)
    }
  })

  it('are the same by HEAD, without a body', async () => {
    await fill(200)
    for (const query of ['?page_size=200', '?paginate=false', '?paginate=false&accept=text/csv']) {
      const asked = { 'accept-encoding': 'gzip' }
      const get = await ask(cdrs + query, asked)
      const { response } = await open(cdrs + query, asked, 'HEAD')
      expect((await buffer(response)).length).toBe(0)
      const kept = ({
        'content-encoding': coding,
        vary,
        'content-type': type,
        etag,
      }: IncomingMessage['headers']) => ({
        coding,
        vary,
        type,
        etag,
      })
      expect(kept(response.headers)).toEqual(kept(get.headers))
    }
  })

  it('have a tag by which they are known again, in whichever coding', async () => {
    await fill(200)
    const plain = await ask(`${cdrs}?page_size=200`)
    const packed = await ask(`${cdrs}?page_size=200`, { 'accept-encoding': 'br' })
    const { etag = '' } = packed.headers
    expect(etag).toMatch(/^W\/"/)
    expect(plain.headers.etag).toBe(etag)
    for (const coding of ['identity', 'gzip', 'zstd'])
      expect(
        await ask(`${cdrs}?page_size=200`, { 'accept-encoding': coding, 'if-none-match': etag }),
      ).toMatchObject({
        status: 304,
        coding: undefined,
        text: '',
        headers: { etag, vary: 'Accept-Encoding' },
      })
  })

  it('of one record have a weak tag, which is good for a change', async () => {
    const path = `${account.path}/callflows`
    const made = await admin.put(path, {
      numbers: ['4711'],
      flow: { module: 'response', data: { code: 486, message: 'x'.repeat(20_000) } },
    })
    expect(made).toSucceed()
    const one = `${path}/${made.data.id}`
    const plain = await ask(one)
    const packed = await ask(one, { 'accept-encoding': 'gzip' })
    expect(plain.headers.etag).toMatch(/^"/)
    expect(packed).toMatchObject({ coding: 'gzip', headers: { etag: `W/${plain.headers.etag}` } })
    expect(withoutTimes(packed.text)).toBe(withoutTimes(plain.text))
    const { etag = '' } = packed.headers
    expect(await ask(one, { 'accept-encoding': 'gzip', 'if-none-match': etag })).toMatchObject({
      status: 304,
    })
    const change = { name: 'busy' }
    expect(await admin.patch(one, change, { headers: { 'if-match': etag } })).toSucceed()
    expect(await admin.patch(one, change, { headers: { 'if-match': etag } })).toFailWith(
      412,
      'precondition failed',
    )
  })

  it('are not made of what is short, unless nothing else is taken', async () => {
    const plain = await ask(account.path, { 'accept-encoding': 'gzip, br, zstd' })
    expect(plain).toMatchObject({ status: 200, coding: undefined })
    for (const accepted of ['gzip, identity;q=0', 'gzip, *;q=0'])
      expect(await ask(account.path, { 'accept-encoding': accepted })).toMatchObject({
        status: 200,
        coding: 'gzip',
        headers: { vary: 'Accept-Encoding' },
      })
    const empty = await ask(`${cdrs}?paginate=false`, { 'accept-encoding': 'zstd, identity;q=0' })
    expect(JSON.parse(empty.text)).toMatchObject({ data: [], status: 'success' })
    expect(empty.coding).toBe('zstd')
  })

  it('come uncompressed for clients that accept none of the codings, whatever their header contains', async () => {
    await fill(200)
    for (const accepted of [
      'identity;q=0',
      '*;q=0',
      'deflate',
      'gzip;q=0, br;q=0.000',
      ',;=',
      'gzip;q=7',
      `${'x,'.repeat(7000)}gzip`,
    ])
      expect(await ask(`${cdrs}?page_size=200`, { 'accept-encoding': accepted })).toMatchObject({
        status: 200,
        coding: undefined,
      })
  })

  it('contain the token of the caller unchanged, even if a caller name starts like the token', async () => {
    await fill(100, { caller_id_name: admin.token.slice(0, 40) })
    for (const query of ['?page_size=200', '?page_size=200&pretty_print=true', '?paginate=false'])
      for (const coding of codings) {
        const answer = await ask(cdrs + query, { 'accept-encoding': coding })
        expect(answer.coding).toBe(coding)
        expect(answer.bytes.includes(admin.token)).toBe(true)
        expect(JSON.parse(answer.text).auth_token).toBe(admin.token)
      }
  })

  it('are compressed once for a cached list, and end with the parts for each caller', async () => {
    await fill(300)
    const other = await world.admin(account)
    const window = `created_from=${nowOf(world) - 1000}&created_to=${nowOf(world) + 1000}`
    for (const path of [`${cdrs}?page_size=300&${window}`, `${cdrs}?paginate=false&${window}`]) {
      const { data } = JSON.parse((await ask(path)).text)
      expect(data).toHaveLength(300)
      for (const coding of codings) {
        const asked = { 'accept-encoding': coding }
        const answers = []
        for (const token of [admin.token, admin.token, other.token, admin.token])
          answers.push({ token, ...(await ask(path, { ...asked, 'x-auth-token': token })) })
        for (const { token, text, bytes, headers } of answers) {
          expect(headers).toMatchObject({ 'content-encoding': coding, vary: 'Accept-Encoding' })
          expect(headers['content-length']).toBe(String(bytes.length))
          expect(JSON.parse(text)).toMatchObject({ data, auth_token: token, status: 'success' })
          // The whole envelope follows the list uncompressed.
          expect(bytes.includes(`"auth_token":"${token}"`)).toBe(true)
          expect(bytes.length).toBeLessThan(text.length / 3)
        }
        const front = ({ bytes }: { bytes: Buffer }) => bytes.subarray(0, bytes.indexOf('"auth_token"') - 300)
        expect(new Set(answers.map((answer) => front(answer).toString('latin1'))).size).toBe(1)
        const { response } = await open(path, asked, 'HEAD')
        expect(response.headers['content-length']).toBe(String(answers.at(-1)?.bytes.length))
      }
    }
    await sendLegs(world, [legOf(account, nowOf(world) + 10, { call_id: 'the newest' })])
    for (const path of [`${cdrs}?page_size=300&${window}`, `${cdrs}?paginate=false&${window}`])
      for (const coding of codings) {
        const { text } = await ask(path, { 'accept-encoding': coding })
        expect(JSON.parse(text).data[0].call_id).toBe('the newest')
      }
  })

  it('are not made of what shows secrets, or of whole records in lists', async () => {
    const device = await admin.put(`${account.path}/devices`, {
      name: 'phone',
      sip: { username: 'phone', password: 'secret-word' },
      music_on_hold: {},
      notes: 'x'.repeat(20_000),
    })
    expect(device).toSucceed()
    const asked = { 'accept-encoding': 'gzip, identity;q=0' }
    expect((await ask(`${account.path}/devices/${device.data.id}`, asked)).coding).toBeUndefined()
    expect((await ask(`${account.path}?include_api_key=true`, asked)).coding).toBeUndefined()
    expect((await ask(`${account.path}/api_key`, asked)).coding).toBeUndefined()
    await fill(300)
    for (const query of [
      'paginate=false&fields=id',
      'paginate=false&fields=id&accept=text/csv',
      'page_size=300&fields=id&accept=text/csv',
    ])
      expect((await ask(`${cdrs}?${query}`, { 'accept-encoding': 'gzip' })).coding).toBeUndefined()
  })

  it('are not made of a list with secrets, whatever keys its other rows have', async () => {
    const more = { notes: 'x'.repeat(20_000) }
    const landline = { device_type: 'landline', call_forward: { enabled: true, number: '+14155550100' } }
    const named = { name: 'zz', ...landline, auth_token: 'x', ...more }
    const secret = { name: 'zy', sip: { username: 'line-b', password: 'secret-word' }, ...more }
    for (const data of [named, secret]) expect(await admin.put(`${account.path}/devices`, data)).toSucceed()
    await world.configure('crossbar', { allow_fetch_full_docs: true, include_auth_token: true })
    // Rows of the list are in descending order.
    const query = 'full_docs=true&page_size=2'
    const { text, coding } = await ask(`${account.path}/devices?${query}`, { 'accept-encoding': 'gzip' })
    expect(text.lastIndexOf('secret-word')).toBeGreaterThan(text.indexOf('"auth_token"'))
    expect(coding).toBeUndefined()
  })

  it('are not made where the operator says so', async () => {
    await fill(200)
    await world.configure('crossbar', { answer_compression: false })
    const answer = await ask(`${cdrs}?page_size=200`, { 'accept-encoding': 'gzip' })
    await world.configure('crossbar', { answer_compression: true })
    expect(answer).toMatchObject({ status: 200, coding: undefined })
    expect(answer.headers.vary).toBeUndefined()
  })

  it('stop when the client disconnects, and other answers still complete', async () => {
    await fill(3000, {
      caller_id_name: Array.from({ length: 60 }, (_, index) => `name ${index * 7919}`).join(),
    })
    for (let round = 0; round < 30; round += 1) {
      const { response, asked } = await open(`${cdrs}?paginate=false`, {
        'accept-encoding': codings[round % codings.length] ?? '',
      })
      await once(response, 'readable')
      asked.destroy()
    }
    const whole = await ask(`${cdrs}?paginate=false`, { 'accept-encoding': 'gzip' })
    expect(JSON.parse(whole.text).data).toHaveLength(3000)
  })

  it('come one behind the other on a connection, whatever takes longer', async () => {
    await fill(1500)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const get = (path: string, coding: string) =>
      new Promise<[string | undefined, Buffer]>((resolve, reject) => {
        request(
          {
            port: world.server.port,
            path,
            agent,
            headers: { 'x-auth-token': admin.token, 'accept-encoding': coding },
          },
          (response) =>
            buffer(response).then((bytes) => resolve([response.headers['content-encoding'], bytes]), reject),
        )
          .on('error', reject)
          .end()
      })
    const answers = await Promise.all([
      get(`${cdrs}?page_size=1500`, 'gzip'),
      get(account.path, 'gzip'),
      get(`${cdrs}?page_size=100`, 'br'),
    ])
    agent.destroy()
    expect(answers.map(([coding]) => coding)).toEqual(['gzip', undefined, 'br'])
    expect(JSON.parse(gunzipSync((answers[0] as [string, Buffer])[1]).toString()).data).toHaveLength(1500)
    expect(
      JSON.parse(brotliDecompressSync((answers[2] as [string, Buffer])[1]).toString()).data,
    ).toHaveLength(100)
  })
})
