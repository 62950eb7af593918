// Many numbers at once, listed or changed; whose they are, and of what kind.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { countRounds } from '../support/run/rounds.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const listOf = (account: TestAccount) => `${account.path}/phone_numbers`

describeAnyEngine('the list of an account’s numbers', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()

  const fresh = async (count: number, fields: Json = {}) => {
    const account = await world.account(world.reseller)
    const numbers = Array.from({ length: count }, next)
    for (const number of numbers) await makeNumber(world, account, number, fields)
    return { account, numbers }
  }

  const read = (account: TestAccount, query: Record<string, string | number | boolean> = {}) =>
    world.operator.get(listOf(account), { query })

  const keys = (data: { numbers: object }) => Object.keys(data.numbers)

  it('is empty at first, and again after what it had is gone', async () => {
    const { account } = await fresh(0)
    expect(await read(account)).toSucceedWith({ cascade_quantity: 0, numbers: {} })
    const number = next()
    const path = await makeNumber(world, account, number)
    const listed = await read(account)
    expect(listed).toSucceedWith({
      cascade_quantity: 0,
      numbers: {
        [number]: {
          state: 'in_service',
          features: ['local'],
          features_available: ['carrier_name', 'force_outbound', 'prepend', 'ringback'],
          assigned_to: account.id,
          created: expect.any(Number),
          updated: expect.any(Number),
        },
      },
    })
    expect(listed.body.page_size).toBe(1)
    await world.operator.delete(path)
    expect(await read(account)).toSucceedWith({ cascade_quantity: 0, numbers: {} })
  })

  it('returns how many billable numbers the account and those below it have', async () => {
    const parent = await world.account(world.reseller)
    const child = await world.account(parent)
    await makeNumber(world, parent, next(), { carrier_name: 'inventory' })
    const path = await makeNumber(world, child, next(), { carrier_name: 'inventory' })
    await makeNumber(world, child, next(), { carrier_name: 'local' })
    expect((await read(parent)).data.cascade_quantity).toBe(2)
    expect((await read(child)).data.cascade_quantity).toBe(1)
    await world.operator.delete(path)
    expect((await read(parent)).data.cascade_quantity).toBe(1)
  })

  it('comes in pages that begin with the number their start key names', async () => {
    const { account, numbers } = await fresh(5)
    const first = await read(account, { page_size: 2, ascending: true })
    expect(keys(first.data)).toEqual(numbers.slice(0, 2))
    expect(first.body.next_start_key).toBe(numbers[2])
    const second = await read(account, {
      page_size: 2,
      ascending: true,
      start_key: first.body.next_start_key as string,
    })
    expect(keys(second.data)).toEqual(numbers.slice(2, 4))
    const last = await read(account, {
      page_size: 2,
      ascending: true,
      start_key: second.body.next_start_key as string,
    })
    expect(keys(last.data)).toEqual(numbers.slice(4))
    expect(last.body.next_start_key).toBeUndefined()
    // A plus that was not encoded.
    const raw = await world.operator.get(`${listOf(account)}?ascending=true&start_key=${numbers[3]}`)
    expect(keys(raw.data)).toEqual(numbers.slice(3))
    const down = await read(account, { page_size: 2, start_key: numbers[3] as string })
    expect(keys(down.data)).toEqual([numbers[3], numbers[2]])
    expect(down.body.next_start_key).toBe(numbers[1])
  })

  it('comes whole without paging, as JSON and as CSV', async () => {
    const { account, numbers } = await fresh(3)
    const whole = await read(account, { paginate: false, ascending: true })
    expect(keys(whole.data)).toEqual(numbers)
    expect(whole.body.next_start_key).toBeUndefined()
    const inOne = await read(account, { paginate: false, is_chunked: false, ascending: true })
    expect(inOne.data).toEqual(whole.data)
    for (const query of [{ accept: 'csv' }, { accept: 'text/csv', paginate: false }]) {
      const csv = await read(account, { ...query, ascending: true })
      expect(csv.headers['content-type']).toBe('text/csv')
      const [header, ...lines] = csv.text.trim().split('\r\n')
      expect(header).toBe('id,state,features,assigned_to,created,updated,features_available')
      expect(lines.map((line) => line.split(',')[0])).toEqual(numbers)
    }
  })

  it('is filtered by what the system knows and by public fields', async () => {
    const { account, numbers } = await fresh(2, { my: { kind: 'a' } })
    const reserved = next()
    await makeNumber(world, account, reserved, { create_with_state: 'reserved', my: { kind: 'b' } })
    const found = async (query: Record<string, string | number>) =>
      keys((await read(account, { ...query, ascending: 'true' })).data)
    expect(await found({ filter_state: 'reserved' })).toEqual([reserved])
    expect(await found({ filter_state: '["in_service","port_in"]' })).toEqual(numbers)
    expect(await found({ filter_assigned_to: account.id })).toHaveLength(3)
    expect(await found({ filter_assigned_to: world.acme.id })).toEqual([])
    expect(await found({ 'filter_my.kind': 'b' })).toEqual([reserved])
    expect(await found({ filter_not_state: 'reserved' })).toEqual(numbers)
    expect(await found({ has_key: 'my' })).toHaveLength(3)
    expect(await found({ key_missing: 'used_by' })).toHaveLength(3)
    expect(await found({ created_from: 1 })).toHaveLength(3)
    expect(await found({ created_to: 1 })).toEqual([])
    expect(await found({ include_ports: 'false' })).toHaveLength(3)
    const fields = await read(account, { fields: '["state"]', filter_state: 'reserved' })
    expect(fields.data.numbers).toEqual({ [reserved]: { id: reserved, state: 'reserved' } })
  })

  it('with a prefix is a search', async () => {
    const answer = await world.ada.get(listOf(world.acme), { query: { prefix: '999', quantity: 1 } })
    expect(answer).toSucceedWith([])
  })

  it('is repaired after the rules have changed', async () => {
    const { account, numbers } = await fresh(2)
    const { numbers: area } = world.server.areas.phoneNumbers
    await world.configure('number_manager', {
      classifiers: { ours: { regex: '^\\+1415' }, rest: { regex: '.' } },
    })
    expect((await area.findAnywhere(numbers[0] as string))?.classifier).toBe('did_us')
    const fixed = await world.operator.post(`${listOf(account)}/fix`)
    expect(keys(fixed.data).sort()).toEqual(numbers)
    expect((await area.findAnywhere(numbers[0] as string))?.classifier).toBe('ours')
    await world.configure('number_manager', { classifiers: undefined })
    expect(
      await world.operator.post(`${listOf(account)}/fix/${encodeURIComponent(numbers[1] as string)}`),
    ).toSucceedWith({})
    expect((await area.findAnywhere(numbers[0] as string))?.classifier).toBe('ours')
    expect((await area.findAnywhere(numbers[1] as string))?.classifier).toBe('did_us')
    const foreign = `${listOf(world.acme)}/fix/${encodeURIComponent(numbers[1] as string)}`
    expect(await world.operator.post(foreign)).toFailWith(404, 'bad_identifier')
  })
})

describeAnyEngine('a collection of numbers', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()
  const path = () => `${listOf(world.reseller)}/collection`

  const item = (number: string, more: Json = {}) => ({
    id: number,
    state: 'in_service',
    features: ['local'],
    ...more,
    _read_only: {
      id: number,
      created: expect.any(Number),
      modified: expect.any(Number),
      carrier_module: 'local',
      features: { available: ['force_outbound', 'prepend', 'ringback'], settings: {} },
    },
  })

  it.each<[string, unknown, string, string]>([
    ['missing', undefined, 'required', 'list of numbers missing'],
    ['no list', '+14155550100', 'type', 'numbers must be a list'],
    ['empty', [], 'minimum', 'minimum 1 number required'],
    ['twice the same [61]', ['4155550100', '+14155550100'], 'uniqueItems', 'some numbers appear twice'],
  ])('whose numbers are %s is refused', async (_what, numbers, rule, message) => {
    for (const [method, to] of [
      ['PUT', ''],
      ['POST', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['PUT', '/activate'],
    ] as const) {
      const answer = await world.ross.request(method, `${path()}${to}`, { numbers })
      expect(answer).toBreak({ numbers: [rule] })
      expect(answer.data.numbers[rule].message).toBe(message)
    }
  })

  it('of more than ten thousand is refused, before its numbers are looked at', async () => {
    const numbers = Array.from({ length: 10_001 }, () => 'x1')
    for (const [method, to] of [
      ['PUT', `${path()}`],
      ['DELETE', `${path()}`],
      ['PUT', `${path()}/activate`],
      ['POST', `${listOf(world.reseller)}/check`],
      ['POST', `${listOf(world.reseller)}/locality`],
    ] as const) {
      const answer = await world.unchanged(() => world.ross.request(method, to, { numbers }))
      expect(answer).toBreak({ numbers: ['maxItems'] })
      expect(answer.data.numbers.maxItems).toEqual({
        message: 'maximum 10000 numbers allowed; use a task for more',
        target: 10_000,
      })
    }
  })

  it('of ten thousand lets others have their turn', async () => {
    const numbers = Array.from({ length: 10_000 }, (_, index) => `x${index}`)
    const rounds = countRounds()
    const answer = await world.ross.put(path(), { numbers })
    expect(rounds()).toBeGreaterThan(3)
    expect(Object.keys(answer.data.error)).toHaveLength(10_000)
  })

  it('is created as far as that goes, in the order asked for', async () => {
    const there = next()
    await makeNumber(world, world.reseller, there)
    const [a, b] = [next(), next()]
    const numbers = [b, there, a, '12_']
    const answer = await world.ross.put(
      path(),
      { numbers, my: 'own' },
      { envelope: { accept_charges: true } },
    )
    expect(answer).toSucceedWith({
      success: { [a]: item(a, { my: 'own' }), [b]: item(b, { my: 'own' }) },
      error: {
        [there]: {
          code: 409,
          error: 'number_exists',
          message: `number ${there} already exists`,
          cause: there,
        },
        '12_': {
          code: 400,
          error: 'not_reconcilable',
          message: 'number 12_ is not reconcilable',
          cause: '12_',
        },
      },
    })
    expect(Object.keys(answer.data.success)).toEqual([b, a])
  })

  it('is all refused to an account that may not add numbers', async () => {
    const numbers = [next(), next()]
    const answer = await world.unchanged(() => world.ada.put(`${listOf(world.acme)}/collection`, { numbers }))
    const told = {
      code: 403,
      error: 'forbidden',
      message: 'requestor is unauthorized to perform operation',
      cause: `account ${world.acme.id} is not allowed to create numbers`,
    }
    expect(answer).toSucceedWith({
      success: {},
      error: Object.fromEntries(numbers.map((number) => [number, told])),
    })
  })

  it('is put into a state and to a carrier by the operator', async () => {
    const number = next()
    const fields = { create_with_state: 'available', carrier_name: 'inventory' }
    const answer = await world.operator.put(path(), { numbers: [number], ...fields })
    expect(answer.data.error).toEqual([])
    expect(answer.data.success[number]).toMatchObject({
      state: 'available',
      _read_only: { carrier_module: 'inventory' },
    })
  })

  it('is activated, replaced, merged and deleted, each number separately', async () => {
    const account = await world.account(world.reseller)
    await allowAdditions(world, account)
    const admin = await world.admin(account)
    const [free, own, foreign] = [next(), next(), next()]
    await makeNumber(world, world.master, free, { create_with_state: 'available' })
    await makeNumber(world, account, own, { my: { a: 1 } })
    await makeNumber(world, world.rival, foreign)
    const to = `${listOf(account)}/collection`
    const numbers = [free, own, foreign]
    const activated = await admin.put(`${to}/activate`, { numbers, my: { a: 1 } })
    expect(activated.status).toBe(201)
    expect(activated.data.success).toEqual({
      [free]: item(free, { my: { a: 1 } }),
      [own]: item(own, { my: { a: 1 } }),
    })
    expect(Object.keys(activated.data.error)).toEqual([foreign])
    expect(activated.data.error[foreign].code).toBe(403)
    const merged = await admin.patch(to, { numbers, my: { b: 2 } })
    expect(merged.data.success[own].my).toEqual({ a: 1, b: 2 })
    expect(merged.data.error).toEqual({
      [foreign]: {
        code: 404,
        error: 'not_found',
        message: `number ${foreign} not found`,
        cause: foreign,
      },
    })
    const removed = await admin.patch(to, { numbers: [own], my: { a: null } })
    expect(removed.data.success[own].my).toEqual({ b: 2 })
    const replaced = await admin.post(to, { numbers: [own], x: 1 })
    expect(replaced.data.success).toEqual({ [own]: item(own, { x: 1 }) })
    // [63]
    const unknown = next()
    const deleted = await admin.delete(to, { numbers: [own, unknown] })
    expect(deleted.status).toBe(200)
    expect(deleted.data.success[own]).toMatchObject({
      id: own,
      state: 'available',
      _read_only: { deleted: true },
    })
    expect(deleted.data.error).toEqual({
      [unknown]: {
        code: 404,
        error: 'not_found',
        message: `number ${unknown} not found`,
        cause: unknown,
      },
    })
    expect(await admin.get(pathOf(account, own))).toFailWith(404, 'bad_identifier')
  })

  it('is deleted for good only by the operator', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { carrier_name: 'inventory' })
    const to = `${listOf(world.acme)}/collection`
    const soft = await world.ada.delete(to, { numbers: [number] }, { query: { hard: true } })
    expect(soft.data.success[number].state).toBe('available')
    const hard = await world.operator.delete(to, { numbers: [number] }, { query: { hard: true } })
    expect(hard.data.success[number].state).toBe('deleted')
  })

  it('of thousands is carried out whole', async () => {
    const account = await world.account(world.reseller)
    const numbers = Array.from({ length: 1500 }, (_, index) => `+1628555${String(index).padStart(4, '0')}`)
    const made = await world.operator.put(`${listOf(account)}/collection`, { numbers })
    expect(Object.keys(made.data.success)).toEqual(numbers)
    expect(made.data.error).toEqual([])
    const gone = await world.operator.delete(`${listOf(account)}/collection`, { numbers })
    expect(Object.keys(gone.data.success)).toHaveLength(1500)
    expect((await world.operator.get(listOf(account))).data.numbers).toEqual({})
  })
})

describeAnyEngine('whose a number is, and of what kind', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()

  it('is shown to the owner and those above', async () => {
    const number = next()
    await makeNumber(world, world.acme, number)
    for (const [who, account] of [
      [world.ada, world.acme],
      [world.ross, world.reseller],
      [world.operator, world.rival],
    ] as const) {
      expect(await who.get(`${pathOf(account, number)}/identify`)).toSucceedWith({
        account_id: world.acme.id,
        number,
      })
    }
    expect(await world.rex.get(`${pathOf(world.rival, number)}/identify`)).toFailWith(404, 'bad_identifier')
  })

  it('is a client’s error for an unassigned number, and 404 for an unknown one', async () => {
    const free = next()
    await makeNumber(world, world.acme, free, { create_with_state: 'available' })
    expect(await world.ada.get(`${pathOf(world.acme, free)}/identify`)).toFailWith(400, 'client error', {
      cause: 'unassigned',
      number: free,
    })
    const aging = next()
    await makeNumber(world, world.acme, aging, { create_with_state: 'aging' })
    expect(await world.ada.get(`${pathOf(world.acme, aging)}/identify`)).toFailWith(400, 'client error', {
      cause: 'not_in_service',
      account_id: world.acme.id,
      number: aging,
    })
    const disabled = await world.account(world.reseller)
    const number = next()
    await makeNumber(world, disabled, number)
    await world.operator.patch(disabled.path, { enabled: false })
    expect(await world.operator.get(`${pathOf(disabled, number)}/identify`)).toFailWith(400, 'client error', {
      cause: 'account_disabled',
      account_id: disabled.id,
      number,
    })
    const unknown = next()
    expect(await world.ada.get(`${pathOf(world.acme, unknown)}/identify`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      not_found: 'The number could not be found',
      cause: unknown,
    })
  })

  it('is returned by classifiers', async () => {
    const classify = async (number: string) =>
      (await world.ada.get(`${listOf(world.acme)}/classifiers/${encodeURIComponent(number)}`)).data
    expect(await classify('4155550100')).toEqual({
      name: 'did_us',
      number: '4155550100',
      e164: '+14155550100',
      regex: '^(\\+?1)?([2-9][0-9]{2}[2-9][0-9]{6})$',
      friendly_name: 'US DID',
      pretty_print: 'SS(###) ###-####',
    })
    expect(await classify('+18005550100')).toMatchObject({ name: 'tollfree_us', e164: '+18005550100' })
    expect(await classify('+442079460000')).toMatchObject({ name: 'international', e164: '+442079460000' })
    expect(await classify('911')).toMatchObject({ name: 'emergency', emergency: true })
    const all = await world.ada.get(`${listOf(world.acme)}/classifiers`)
    for (const [name, classifier] of Object.entries(all.data)) expect(classifier).toMatchObject({ name })
    expect(Object.keys(all.data)).toEqual([
      'tollfree_us',
      'toll_us',
      'emergency',
      'caribbean',
      'did_us',
      'international',
      'unknown',
    ])
  })

  it('follows the settings: converters, classifiers, and what counts as a number', async () => {
    await world.configure('number_manager', {
      e164_converters: { '^0(\\d{4,})$': { prefix: '+49' } },
      reconcile_regex: '^\\+49\\d{4,}$',
      classifiers: { home: { regex: '^\\+49' }, abroad: { regex: '.' } },
    })
    const answer = await world.ada.get(`${listOf(world.acme)}/classifiers/030123456`)
    expect(answer).toSucceedWith({ name: 'home', regex: '^\\+49', number: '030123456', e164: '+4930123456' })
    expect((await world.ross.put(pathOf(world.reseller, '030123456'))).data.id).toBe('+4930123456')
    expect(await world.ross.put(pathOf(world.reseller, '+14155550100'))).toFailWith(404, 'not_reconcilable')
    const config = { default: { reconcile_regex: '(', classifiers: { x: { regex: '(?=a)' } } } }
    expect(await world.operator.patch('/v2/system_configs/number_manager', config)).toBreak({
      'default.reconcile_regex': ['invalid'],
      'default.classifiers.x': ['invalid'],
    })
  })
})
