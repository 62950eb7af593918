import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { notForCaller } from '../support/matchers/refusals.ts'
import { createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const rings = (id: string) => ({ module: 'user', data: { id }, children: {} })
const hangup = { module: 'response', data: { code: 603 }, children: {} }
const unknownId = '0'.repeat(32)

describeAnyEngine('callflows', (engine) => {
  const world = useWorld(engine)
  const nextNumber = createNumberSource('+1415551')

  const own = async (account: TestAccount = world.acme) => {
    const number = nextNumber()
    await makeNumber(world, account, number)
    return number
  }

  let extensions = 1000
  const nextExtension = () => {
    extensions += 1
    return String(extensions)
  }

  const made = async (fields: Json = {}, account: TestAccount = world.acme) => {
    const answer = await world.operator.put(`${account.path}/callflows`, {
      numbers: [nextExtension()],
      flow: hangup,
      ...fields,
    })
    expect(answer, answer.text).toSucceed()
    return { ...answer.data, path: `${account.path}/callflows/${answer.data.id}` } as Json & {
      id: string
      path: string
    }
  }

  const useOf = async (number: string, account: TestAccount = world.acme) =>
    (await world.operator.get(pathOf(account, number))).data.used_by

  it('are created with what their ids are called, read, changed, and gone when deleted', async () => {
    const { ada, acme, uli } = world
    const extension = nextExtension()
    const flow = { ...rings(uli.id), children: { _: { module: 'voicemail', data: {}, children: {} } } }
    const sent = {
      name: 'Uli',
      numbers: [extension],
      flow,
      owner_id: uli.id,
      metadata: { x: 1 },
      type: 'mainUserCallflow',
    }
    const answer = await ada.put(`${acme.path}/callflows`, sent)
    const { id } = answer.data
    const record = {
      ...sent,
      id,
      patterns: [],
      metadata: { [uli.id]: { name: 'Uli User', type: 'user' } },
    }
    expect(answer).toSucceedWith(record)
    const path = `${acme.path}/callflows/${id}`
    expect(answer.headers.location).toBe(path)
    expect(answer.body.metadata).toEqual({ id, created: expect.any(Number), modified: expect.any(Number) })
    expect(await ada.get(path)).toSucceedWith(record)
    const patched = await ada.patch(path, { featurecode: { name: 'park', number: '3' }, custom: [1] })
    const changed = { ...record, featurecode: { name: 'park', number: '3' }, custom: [1] }
    expect(patched).toSucceedWith(changed)
    const replaced = await ada.post(path, { numbers: [extension], flow: { module: 'hangup' } })
    const last = {
      id,
      numbers: [extension],
      patterns: [],
      metadata: {},
      flow: { module: 'hangup', data: {} },
    }
    expect(replaced).toSucceedWith(last)
    const gone = await ada.delete(path)
    expect(gone).toSucceedWith(last)
    expect(gone.body.metadata).toMatchObject({ id, deleted: true })
    expect(await ada.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('are listed with the modules of their flows, and found by a number that they list', async () => {
    const account = await world.account(world.reseller)
    const number = await own(account)
    const flow = {
      module: 'menu',
      data: {},
      children: { 1: rings(unknownId), 2: rings(unknownId), _: hangup },
    }
    const b = await made({ name: 'b', numbers: ['101', number], flow, flags: ['x'] }, account)
    const a = await made({ name: 'a', numbers: ['no_match'], patterns: ['^9(\\d+)$'] }, account)
    const rowB = {
      id: b.id,
      name: 'b',
      numbers: ['101', number],
      patterns: [],
      featurecode: false,
      modules: ['menu', 'user', 'response'],
      flags: ['x'],
    }
    const rowA = {
      id: a.id,
      name: 'a',
      numbers: ['no_match'],
      patterns: ['^9(\\d+)$'],
      featurecode: false,
      modules: ['response'],
      flags: [],
    }
    const list = (query: Record<string, string> = {}) =>
      world.ross.get(`${account.path}/callflows`, {
        query: { paginate: 'false', ascending: 'true', ...query },
      })
    expect(await list()).toSucceedWith([rowA, rowB])
    expect(await list({ filter_numbers: 'no_match' })).toSucceedWith([rowA])
    expect(await list({ filter_numbers: number.slice(2) })).toSucceedWith([rowB])
    expect(await list({ filter_numbers: '["101","no_match"]' })).toSucceedWith([rowA, rowB])
    expect(await list({ filter_numbers: '["101","no_match"]', filter_name: 'b' })).toSucceedWith([rowB])
    expect(await list({ filter_numbers: '10' })).toSucceedWith([])
    const page = await world.ross.get(`${account.path}/callflows`, {
      query: { page_size: 1, filter_numbers: '["101","no_match"]', ascending: true },
    })
    expect(page.data).toEqual([rowA])
    const rest = await world.ross.get(`${account.path}/callflows`, {
      query: {
        page_size: 1,
        filter_numbers: '["101","no_match"]',
        ascending: true,
        start_key: String(page.body.next_start_key),
      },
    })
    expect(rest.data).toEqual([rowB])
  })

  it('answer another ETag when something in the flow is called otherwise', async () => {
    const { ada, acme } = world
    const user = await world.user(acme)
    const { path } = await made({ flow: rings(user.id) })
    const { etag } = (await ada.get(path)).headers
    const headers = { 'if-none-match': String(etag) }
    expect((await ada.get(path, { headers })).status).toBe(304)
    await ada.patch(user.path, { last_name: 'Renamed' })
    const again = await ada.get(path, { headers })
    expect(again.data.metadata).toEqual({ [user.id]: { name: 'Some Renamed', type: 'user' } })
    const change = { headers: { 'if-match': String(again.headers.etag) } }
    expect(await ada.patch(path, { name: 'First' }, change)).toSucceed()
    expect(await ada.patch(path, { name: 'Second' }, change)).toFailWith(412, 'precondition failed')
  })

  it('write phone numbers in one form, keep extensions, and follow the dial plan of the account', async () => {
    const dial_plan = { '^0(\\d{6,})$': { prefix: '+49' } }
    const account = await world.account(world.reseller, { dial_plan })
    await makeNumber(world, account, '+14155512345')
    await makeNumber(world, account, '+4930123456')
    const { numbers } = await made(
      { numbers: ['(415) 551-2345', '4155512345', ' 2001 ', '*97', '030 123456', '2001', '12345678'] },
      account,
    )
    expect(numbers).toEqual(['+14155512345', '2001', '*97', '+4930123456', '12345678'])
    const [row] = (
      await world.operator.get(`${account.path}/callflows`, { query: { filter_numbers: '030123456' } })
    ).data
    expect(row.numbers).toEqual(numbers)
  })

  it('say of phone numbers that they are used, and free them again', async () => {
    const { ada } = world
    const [first, second] = [await own(), await own()]
    expect(await useOf(first)).toBeUndefined()
    const { path } = await made({ numbers: [first] })
    expect([await useOf(first), await useOf(second)]).toEqual(['callflow', undefined])
    await ada.patch(path, { numbers: [second, '2900'] })
    expect([await useOf(first), await useOf(second)]).toEqual([undefined, 'callflow'])
    const list = await ada.get(`${world.acme.path}/phone_numbers`, { query: { filter_used_by: 'callflow' } })
    expect(Object.keys(list.data.numbers)).toContain(second)
    await ada.delete(path)
    expect([await useOf(first), await useOf(second)]).toEqual([undefined, undefined])
  })

  it('leave a number that a mobile device brought to that device when they let it go', async () => {
    const mdn = nextNumber()
    await world.device(world.acme, { device_type: 'mobile', mobile: { mdn } })
    expect(await useOf(mdn)).toBe('mobile')
    const { path } = await made({ numbers: [mdn] })
    expect(await useOf(mdn)).toBe('callflow')
    await world.ada.delete(path)
    expect(await useOf(mdn)).toBe('mobile')
  })

  it.each([
    ['of another account', () => own(world.rival)],
    ['that no account has', async () => nextNumber()],
  ])('are refused a phone number %s, and nothing changes', async (_title, number) => {
    const { ada, acme } = world
    const cause = await number()
    const data = { numbers: [cause], flow: hangup }
    const refused = await world.unchanged(() => ada.put(`${acme.path}/callflows`, data))
    expect(refused).toFailWith(400, 'validation error', {
      numbers: { not_found: { message: 'The account has no such phone number', cause } },
    })
  })

  it('are refused a number of a trunk', async () => {
    const number = await own()
    const { numbers } = world.server.areas.phoneNumbers
    const use = {
      author: { requestId: 'test' },
      accountId: world.acme.id,
      number,
      usedBy: 'trunkstore' as const,
    }
    await numbers.commit(await numbers.plan.use(numbers.view(), use))
    const data = { numbers: [number], flow: hangup }
    const refused = await world.unchanged(() => world.ada.put(`${world.acme.path}/callflows`, data))
    expect(refused).toBreak({ numbers: ['unique'] })
  })

  it('have each number once in an account: the error for a second one names the first', async () => {
    const { ada, acme, rival, rex } = world
    const extension = nextExtension()
    const first = await made({ name: 'Sales', numbers: [extension] })
    const other = await made()
    const taken = {
      numbers: {
        unique: { message: `Number ${extension} exists in callflow ${first.id} Sales`, cause: extension },
      },
    }
    const data = { numbers: [extension], flow: hangup }
    expect(await world.unchanged(() => ada.put(`${acme.path}/callflows`, data))).toFailWith(
      400,
      'validation error',
      taken,
    )
    expect(await world.unchanged(() => ada.patch(other.path, { numbers: [extension] }))).toFailWith(
      400,
      'validation error',
      taken,
    )
    expect(await ada.patch(first.path, { name: 'Still mine' })).toSucceed()
    expect(await rex.put(`${rival.path}/callflows`, data)).toSucceed()
    await ada.delete(first.path)
    expect(await ada.patch(other.path, { numbers: [extension] })).toSucceed()
  })

  it('have each number once when many ask at once, and no number is half taken', async () => {
    const { ada, acme } = world
    const number = await own()
    const extension = nextExtension()
    const ask = (index: number) =>
      ada.put(`${acme.path}/callflows`, {
        name: `racer ${index}`,
        numbers: [number, extension],
        flow: hangup,
      })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(index)))
    const won = answers.filter(({ status }) => status === 201)
    expect(won).toHaveLength(1)
    for (const answer of answers) if (!won.includes(answer)) expect(answer).toBreak({ numbers: ['unique'] })
    const listed = await ada.get(`${acme.path}/callflows`, { query: { filter_numbers: extension } })
    expect(listed.data.map(({ id }: { id: string }) => id)).toEqual(won.map(({ data }) => data.id))
    expect(await useOf(number)).toBe('callflow')
  })

  it('lose a number with their account, when it is released and when it goes to another account', async () => {
    const { ada, operator, reseller } = world
    const [released, kept, moved] = [await own(), await own(), await own()]
    const { path } = await made({ numbers: [released, kept, moved, '2950'] })
    expect(await ada.delete(pathOf(world.acme, released))).toSucceed()
    expect((await ada.get(path)).data.numbers).toEqual([kept, moved, '2950'])
    expect(await operator.put(`${pathOf(reseller, moved)}/activate`)).toSucceed()
    expect((await ada.get(path)).data.numbers).toEqual([kept, '2950'])
    expect(await useOf(moved, reseller)).toBeUndefined()
    const elsewhere = await made({ numbers: [moved] }, reseller)
    expect(elsewhere.numbers).toEqual([moved])
  })

  it('lose several numbers in one request, and may be changed when none is left', async () => {
    const { ada, acme } = world
    const numbers = [await own(), await own(), await own()]
    const { path } = await made({ numbers })
    const gone = await ada.delete(`${acme.path}/phone_numbers/collection`, { numbers })
    expect(Object.keys(gone.data.success)).toHaveLength(3)
    expect((await ada.get(path)).data.numbers).toEqual([])
    expect(await ada.patch(path, { name: 'Spare' })).toSucceed()
    const extension = nextExtension()
    expect(await ada.patch(path, { numbers: [extension] })).toSucceed()
    expect(await world.unchanged(() => ada.patch(path, { numbers: [] }))).toBreak({ numbers: ['required'] })
  })

  it('follow a number that is written otherwise', async () => {
    const account = await world.account(world.reseller)
    const reconcile_regex = '^\\+?\\d{5,15}$'
    await world.configure('number_manager', { e164_converters: {}, reconcile_regex })
    await makeNumber(world, account, '0301234567')
    const { path } = await made({ numbers: ['0301234567', '100'] }, account)
    expect(await useOf('0301234567', account)).toBe('callflow')
    await world.configure('number_manager', { e164_converters: { '^0(\\d{4,})$': { prefix: '+49' } } })
    await world.ross.post(`${account.path}/migrations/normalise_numbers`, { perform_migration: 'now' })
    expect((await world.ross.get(path)).data.numbers).toEqual(['+49301234567', '100'])
    expect(await useOf('+49301234567', account)).toBe('callflow')
    await world.configure('number_manager', { e164_converters: undefined, reconcile_regex: undefined })
  })

  it('go with their account, whose numbers are free then', async () => {
    const account = await world.account(world.reseller)
    const number = await own(account)
    const { id } = await made({ numbers: [number, '100'] }, account)
    expect(await world.operator.delete(account.path)).toSucceed()
    expect(JSON.stringify(await world.snapshot())).not.toContain(id)
    const heir = await world.account(world.reseller)
    await makeNumber(world, heir, number)
    expect((await made({ numbers: [number] }, heir)).numbers).toEqual([number])
  })

  it('go with a user when asked, their phone numbers only when that is asked', async () => {
    const { ada, acme } = world
    const household = async () => {
      const user = await world.user(acme)
      const number = await own()
      const extension = nextExtension()
      const callflow = await made({ numbers: [number, extension], owner_id: user.id })
      return { user, number, callflow, extension }
    }
    const stays = await household()
    await ada.delete(stays.user.path)
    expect((await ada.get(stays.callflow.path)).data.owner_id).toBe(stays.user.id)

    const flows = await household()
    const gone = await ada.delete(flows.user.path, { object_types: ['callflow'] })
    expect(gone.data.object_types).toEqual([{ type: 'callflow', id: flows.callflow.id, status: 'success' }])
    expect(await ada.get(flows.callflow.path)).toFailWith(404, 'bad_identifier')
    expect(await useOf(flows.number)).toBeUndefined()

    const numbers = await household()
    const released = await ada.delete(numbers.user.path, { object_types: ['phone_numbers'] })
    expect(released.data.object_types).toEqual([
      { type: 'phone_numbers', id: numbers.number, status: 'success' },
    ])
    expect((await ada.get(numbers.callflow.path)).data.numbers).toEqual([numbers.extension])
    expect((await ada.get(pathOf(acme, numbers.number))).status).toBe(404)

    const all = await household()
    const everything = await ada.delete(all.user.path, { object_types: 'all' })
    expect(everything.data.object_types).toEqual([
      { type: 'phone_numbers', id: all.number, status: 'success' },
      { type: 'callflow', id: all.callflow.id, status: 'success' },
    ])
    expect(await ada.get(all.callflow.path)).toFailWith(404, 'bad_identifier')
    expect((await ada.get(pathOf(acme, all.number))).status).toBe(404)
  })

  const chain = (length: number): Json =>
    length === 0 ? hangup : { module: 'x', data: {}, children: { _: chain(length - 1) } }
  const many = {
    module: 'x',
    data: {},
    children: Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`${index}`, hangup])),
  }
  const broken = (step: unknown) => ({ module: 'x', children: { 'a.b': step } })

  it.each([
    ['without a flow', { flow: undefined }, { flow: ['required'] }],
    ['without a module', { flow: {} }, { 'flow.module': ['required'] }],
    ['with a child that is none', { flow: broken(7) }, { 'flow.children.a%2Eb': ['type'] }],
    [
      'with a child without a module',
      { flow: broken({ data: [] }) },
      { 'flow.children.a%2Eb.module': ['required'], 'flow.children.a%2Eb.data': ['type'] },
    ],
    ['with too deep a flow', { flow: chain(25) }, { flow: ['too_large'] }],
    ['with too many modules', { flow: many }, { flow: ['too_large'] }],
    ['without a number or a pattern', { numbers: [] }, { numbers: ['required'] }],
    ['with a pattern that is none', { patterns: ['^1', '('] }, { 'patterns.1': ['wrong_format'] }],
    ['with a pattern that looks around', { patterns: ['(?=1)2'] }, { 'patterns.0': ['wrong_format'] }],
    ['with a number that is too long', { numbers: ['1'.repeat(37)] }, { 'numbers.0': ['maxLength'] }],
    ['with an owner who is none', { owner_id: unknownId }, { owner_id: ['not_found'] }],
  ])('are refused %s, and nothing changes', async (_title, fields, rules) => {
    const { ada, acme } = world
    const data = { numbers: ['2999'], flow: hangup, ...fields }
    expect(await world.unchanged(() => ada.put(`${acme.path}/callflows`, data))).toBreak(rules)
  })

  it('may be as deep as the documented limit', async () => {
    expect(await made({ flow: chain(24) })).toMatchObject({ flow: chain(24) })
  })

  it('have events for creating, editing and deleting', async () => {
    const account = await world.account(world.reseller)
    const { id, path } = await made({ numbers: ['100'] }, account)
    await world.operator.patch(path, { name: 'Told' })
    await world.operator.delete(path)
    const { data } = await world.operator.get(`${account.path}/events`, { query: { record_id: id } })
    expect(data.map(({ type }: { type: string }) => type)).toEqual([
      'callflow.created',
      'callflow.edited',
      'callflow.deleted',
    ])
  })

  it('are for the account and those above it', async () => {
    const { rex, acme, rival } = world
    const { id, path } = await made()
    const foreign = await world.unchanged(async () => [
      await rex.get(path),
      await rex.get(`${acme.path}/callflows`),
      await rex.put(`${acme.path}/callflows`, { numbers: ['9'], flow: hangup }),
      await rex.patch(path, { name: 'x' }),
      await rex.post(path, { numbers: ['9'], flow: hangup }),
      await rex.delete(path),
    ])
    for (const answer of foreign) expect(answer).toFailWith(403, 'forbidden', notForCaller)
    expect(await rex.get(`${rival.path}/callflows/${id}`)).toFailWith(404, 'bad_identifier')
  })
})
