// Filters and fields, and lists as CSV.
import { expect, it } from 'vitest'
import type { Answer } from '../support/world/client.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

type Row = { last_name: string }
type Query = Record<string, string | number | boolean>

const namesOf = ({ data }: Answer): string => data.map(({ last_name }: Row) => last_name).join('')

const created = 63_934_833_600

describeEngines('filters', (engine) => {
  // Three users: what each has and lacks is what the filters ask about.
  const records = [
    { last_name: 'a', note: 'red', deep: { er: { key: 'value1' } }, tags: ['x', 'y'], level: 5, on: true },
    {
      last_name: 'b',
      note: 'blue',
      deep: { er: { key: 'value3' } },
      tags: ['y'],
      level: 6,
      on: false,
      empty: '',
    },
    { last_name: 'c', tags: [], deep: {}, filter_x: 'odd' },
  ]
  const world = useWorld(engine)
  let path: string | undefined

  const listPath = async () => {
    if (path) return path
    const account = await world.account(world.acme)
    for (const record of records) {
      await world.user(account, { first_name: 'x', ...record })
      world.clock.advance({ seconds: 10 })
    }
    path = `${account.path}/users`
    return path
  }

  const kept = async (query: Query | string) => {
    const at = await listPath()
    const options = typeof query === 'string' ? { query } : { query: { ascending: true, ...query } }
    const answer = await world.ada.get(at, options)
    expect(answer).toSucceed()
    return namesOf(answer)
  }

  it('compare a value as text, by a dotted path', async () => {
    expect(await kept({ filter_note: 'red' })).toBe('a')
    expect(await kept({ 'filter_deep.er.key': 'value3' })).toBe('b')
    expect(await kept({ filter_level: 5 })).toBe('a')
    expect(await kept({ filter_on: true })).toBe('a')
    expect(await kept({ filter_note: 'RED' })).toBe('')
    expect(await kept({ filter_note: '["red","blue"]' })).toBe('ab')
    expect(await kept({ filter_note: '' })).toBe('c')
  })

  it('keep the opposite, missing keys included', async () => {
    expect(await kept({ filter_not_note: 'red' })).toBe('bc')
    expect(await kept({ filter_not_note: '["red","blue"]' })).toBe('c')
    expect(await kept({ 'filter_not_deep.er.key': 'value1' })).toBe('bc')
  })

  it('compare a value with a list', async () => {
    expect(await kept({ filter_any_note: '["red","green"]' })).toBe('a')
    expect(await kept({ filter_any_level: '[5,6]' })).toBe('ab')
    expect(await kept({ filter_none_note: '["red","green"]' })).toBe('bc')
  })

  it('compare an array with a list', async () => {
    expect(await kept({ filter_array_intersect_all_tags: '["x","y"]' })).toBe('a')
    expect(await kept({ filter_array_intersect_any_tags: '["x","y"]' })).toBe('ab')
    expect(await kept({ filter_array_intersect_none_tags: '["x"]' })).toBe('bc')
  })

  it('ask for keys and values', async () => {
    expect(await kept({ has_key: 'note' })).toBe('ab')
    expect(await kept({ has_key: 'empty' })).toBe('b')
    expect(await kept({ key_missing: 'note' })).toBe('c')
    expect(await kept({ has_value: 'empty' })).toBe('')
    expect(await kept({ has_value: 'deep.er' })).toBe('ab')
    expect(await kept({ value_missing: 'empty' })).toBe('abc')
    expect(await kept({ missing_value: 'note' })).toBe('c')
  })

  it('bound the time of creation and change, inclusively', async () => {
    await listPath()
    expect(await kept({ created_from: created + 10 })).toBe('bc')
    expect(await kept({ created_to: created + 10 })).toBe('ab')
    expect(await kept({ created_from: created + 10, created_to: created + 10 })).toBe('b')
    expect(await kept({ modified_from: created + 20 })).toBe('c')
    expect(await kept({ modified_to: created })).toBe('a')
    expect(await kept({ created_from: created + 30, created_to: created + 30 })).toBe('')
  })

  it('hold together', async () => {
    expect(await kept({ has_key: 'note', filter_level: 6 })).toBe('b')
    expect(await kept({ has_key: 'note', filter_level: 6, filter_note: 'red' })).toBe('')
    expect(await kept('ascending=true&has_key=note&has_key=empty')).toBe('b')
  })

  it('keep nothing when they cannot be evaluated, and others are ignored', async () => {
    expect(await kept({ filter_any_note: '["red"' })).toBe('')
    expect(await kept({ filter_array_intersect_any_tags: 'x' })).toBe('')
    expect(await kept({ unknown: 'x', filtre_note: 'red' })).toBe('abc')
    expect(await kept({ filter_: 'x' })).toBe('abc')
    expect(await kept({ filter_filter_x: 'odd' })).toBe('c')
  })

  it('never look at what is private', async () => {
    const { id } = world.uli
    const stored = (await world.snapshot()).records?.find((row) => row.includes(`"id":"${id}"`)) ?? ''
    const secret = /signatureSecret[\\":]+([0-9a-f]+)/.exec(stored)?.[1] ?? ''
    expect(secret).toHaveLength(64)
    for (const key of [
      'hidden.signatureSecret',
      'signatureSecret',
      'pvt_signature_secret',
      'password',
      '_hidden',
    ]) {
      const query = { [`filter_${key}`]: secret }
      expect(await world.ada.get(`${world.acme.path}/users`, { query })).toSucceedWith([])
      expect(await world.ada.get(`${world.acme.path}/users`, { query: { has_key: key } })).toSucceedWith([])
    }
  })

  it('and pages go together', async () => {
    const query = { has_key: 'tags', page_size: 2, ascending: true }
    const first = await world.ada.get(await listPath(), { query })
    expect(namesOf(first)).toBe('ab')
    const start_key = first.body.next_start_key as string
    const second = await world.ada.get(await listPath(), { query: { ...query, start_key } })
    expect(namesOf(second)).toBe('c')
    expect(second.body).not.toHaveProperty('next_start_key')
    const none = await world.ada.get(await listPath(), { query: { filter_note: 'red', page_size: 1 } })
    expect(none.body).not.toHaveProperty('next_start_key')
    const whole = await world.ada.get(await listPath(), { query: { filter_note: 'red', paginate: false } })
    expect(namesOf(whole)).toBe('a')
  })

  it('choose fields of the whole record', async () => {
    const rows = async (fields: string) => {
      const query = { ascending: true, filter_note: 'red', fields }
      return (await world.ada.get(await listPath(), { query })).data
    }
    const id = expect.stringMatching(/^[0-9a-f]{32}$/)
    const picked = [{ id, note: 'red', deep: { er: { key: 'value1' } } }]
    expect(await rows('["note","deep.er.key"]')).toEqual(picked)
    expect(await rows('{"note":true,"deep.er.key":true,"level":false}')).toEqual(picked)
    expect(await rows('"note, deep.er.key"')).toEqual(picked)
    expect(await rows('["nosuch","_id","pvt_x","hidden"]')).toEqual([{ id }])
    expect(await rows('[]')).toEqual([{ id }])
  })

  it('refuse fields that are none', async () => {
    for (const fields of ['note', '5', '[5]', '{"note":"yes"}', 'null', '["note"']) {
      const answer = await world.ada.get(await listPath(), { query: { fields } })
      expect(answer).toFailWith(404, 'faulty_request', { message: 'invalid fields query string' })
    }
  })

  it('show whole records only when the operator allows it, and fields win', async () => {
    const query = { filter_note: 'red', full_docs: true }
    const row = async (more: Query = {}) =>
      (await world.ada.get(await listPath(), { query: { ...query, ...more } })).data[0]
    expect(await row()).not.toHaveProperty('deep')
    await world.configure('crossbar', { allow_fetch_full_docs: true })
    const whole = await row()
    const { data } = await world.ada.get(`${await listPath()}/${whole.id}`)
    const { has_avatar: _photo, ...record } = data
    expect(whole).toMatchObject(record)
    expect(JSON.stringify(whole)).not.toMatch(/secret|signIn/i)
    expect(await row({ fields: '["note"]' })).toEqual({ id: whole.id, note: 'red' })
    await world.configure('crossbar', { allow_fetch_full_docs: false })
  })
})

describeEngines('lists as CSV', (engine) => {
  const world = useWorld(engine)
  const headers = { accept: 'text/csv' }

  const accountWith = async (...rows: object[]) => {
    const account = await world.account(world.acme)
    for (const row of rows) await world.user(account, { first_name: 'x', ...row })
    return `${account.path}/users`
  }

  it('have a header line, and nested keys joined with an underscore', async () => {
    const path = await accountWith(
      {
        last_name: 'a',
        username: 'csv-a',
        email: 'a@b.example',
        call_recording: { any: { onnet: { enabled: true } } },
      },
      { last_name: 'b, "quoted"', username: 'csv-b', flags: ['f', 'g'] },
    )
    const answer = await world.ada.get(path, { headers, query: { ascending: true } })
    const [first, second] = (await world.ada.get(path, { query: { ascending: true } })).data
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/csv')
    const lines = answer.text.split('\r\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]?.split(',')).toEqual(
      expect.arrayContaining(['id', 'first_name', 'last_name', 'username', 'email', 'flags']),
    )
    expect(lines[0]).toContain('call_recording_any_onnet_enabled')
    expect(lines[1]).toContain(first.id)
    expect(lines[2]).toContain(second.id)
    expect(lines[2]).toContain('"b, ""quoted"""')
    expect(lines[3]).toBe('')
  })

  it('are asked for by each name that CSV goes by, in a header or in the query', async () => {
    const path = await accountWith({ last_name: 'a' })
    const { text } = await world.ada.get(path, { headers })
    const answers = [
      ...[
        'text/comma-separated-values',
        'application/octet-stream',
        'text/comma-separated-values; q=0.9',
      ].map((accept) => world.ada.get(path, { headers: { accept } })),
      ...['csv', 'text/csv', 'text/comma-separated-values', 'application/octet-stream'].map((accept) =>
        world.ada.get(path, { query: { accept } }),
      ),
    ]
    for (const answer of await Promise.all(answers)) {
      expect(answer.headers['content-type']).toBe('text/csv')
      expect(answer.text).toBe(text)
    }
    const preferred = await world.ada.get(path, {
      headers: { accept: 'application/octet-stream; q=0.1, application/json' },
    })
    expect(preferred).toSucceed()
  })

  it('defuse what a spreadsheet would run', async () => {
    const path = await accountWith({ last_name: '=cmd()' })
    expect((await world.ada.get(path, { headers })).text).toContain(`'=cmd()`)
  })

  it('are named by the client, by the base name only', async () => {
    const path = await accountWith({ last_name: 'a' })
    const nameOf = async (more: Record<string, string>, query: Query = {}) =>
      (await world.ada.get(path, { headers: { ...headers, ...more }, query })).headers['content-disposition']
    expect(await nameOf({})).toBe('attachment; filename="result.csv"')
    expect(await nameOf({}, { file_name: 'mine.csv' })).toBe('attachment; filename="mine.csv"')
    expect(await nameOf({ 'x-file-name': 'head.csv' }, { file_name: 'mine.csv' })).toBe(
      'attachment; filename="head.csv"',
    )
    expect(await nameOf({ 'x-file-name': '../../etc/x.csv' })).toBe('attachment; filename="x.csv"')
    expect(await nameOf({}, { file_name: 'a"\r\nset-cookie: x=y' })).toBe(
      'attachment; filename="a___set-cookie_ x_y"',
    )
  })

  it('are named in any script: `filename*` has the whole name', async () => {
    const path = await accountWith({ last_name: 'a' })
    const nameOf = async (more: Record<string, string>, query: Query = {}) =>
      (await world.ada.get(path, { headers: { ...headers, ...more }, query })).headers['content-disposition']
    const expected = `attachment; filename="Anrufe M_rz.csv"; filename*=UTF-8''Anrufe%20M%C3%A4rz.csv`
    expect(await nameOf({}, { file_name: 'Anrufe März.csv' })).toBe(expected)
    const sent = Buffer.from('Anrufe März.csv').toString('latin1')
    expect(await nameOf({ 'x-file-name': sent })).toBe(expected)
    expect(await nameOf({}, { file_name: '通話.csv' })).toBe(
      `attachment; filename="__.csv"; filename*=UTF-8''%E9%80%9A%E8%A9%B1.csv`,
    )
  })

  it('are pages, filtered and with the key of the next one, or whole', async () => {
    const path = await accountWith({ last_name: 'a' }, { last_name: 'b' }, { last_name: 'c' })
    const linesOf = (answer: Answer) => answer.text.trimEnd().split('\r\n').length
    const page = await world.ada.get(path, { headers, query: { page_size: 2 } })
    expect(linesOf(page)).toBe(3)
    const start_key = String(page.headers['x-next-start-key'])
    const last = await world.ada.get(path, { headers, query: { page_size: 2, start_key } })
    expect(linesOf(last)).toBe(2)
    expect(last.headers).not.toHaveProperty('x-next-start-key')
    expect(linesOf(await world.ada.get(path, { headers, query: { paginate: false, page_size: 1 } }))).toBe(4)
    expect(linesOf(await world.ada.get(path, { headers, query: { filter_last_name: 'b' } }))).toBe(2)
    const fields = await world.ada.get(path, {
      headers,
      query: { filter_last_name: 'b', fields: '["last_name"]' },
    })
    expect(fields.text).toMatch(/^id,last_name\r\n[0-9a-f]{32},b\r\n$/)
  })

  it('of nothing are a header line', async () => {
    expect((await world.ada.get(await accountWith(), { headers })).text).toBe('id\r\n')
    const query = { paginate: false }
    expect((await world.ada.get(await accountWith(), { headers, query })).text).toBe('id\r\n')
  })

  it('are for records too late: one record is JSON or nothing', async () => {
    expect(await world.ada.get(world.uli.path, { headers })).toFailWith(406, 'not_acceptable')
  })
})
