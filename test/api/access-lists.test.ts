import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24', '198.51.100.7/32'], user_agent: '^Yealink' }

describeAnyEngine('access lists', (engine) => {
  const world = useWorld(engine)

  /** A new account and a new device: the same rules apply to both. */
  const places = async () => {
    const account = await world.account()
    const device = await world.device(account)
    return [account.path, device.path].map((path) => `${path}/access_lists`)
  }

  it('are empty until one is stored, and again when it is removed', async () => {
    const { operator } = world
    for (const path of await places()) {
      expect(await operator.get(path)).toSucceedWith({})
      expect(await operator.delete(path)).toSucceedWith({})
      expect(await operator.post(path, list)).toSucceedWith(list)
      expect(await operator.get(path)).toSucceedWith(list)
      const replaced = { order: 'deny,allow', cidrs: [], note: 'extra keys are kept' }
      expect(await operator.post(path, replaced)).toSucceedWith(replaced)
      expect(await operator.get(path)).toSucceedWith(replaced)
      expect(await operator.delete(path)).toSucceedWith({})
      expect(await operator.get(path)).toSucceedWith({})
    }
  })

  it('of an account and of its devices are kept apart', async () => {
    const { operator } = world
    const [ofAccount = '', ofDevice = ''] = await places()
    await operator.post(ofAccount, list)
    expect(await operator.get(ofDevice)).toSucceedWith({})
  })

  it('are the same thing in the record that they are of: written, changed and removed in either place', async () => {
    const { operator } = world
    for (const path of await places()) {
      const record = path.replace('/access_lists', '')
      const without = (await operator.get(record)).data
      expect(without).not.toHaveProperty('access_lists')
      await operator.post(path, list)
      expect(await operator.get(record)).toSucceedWith({ ...without, access_lists: list })
      expect((await operator.patch(record, { access_lists: { cidrs: [] } })).data.access_lists).toEqual({
        ...list,
        cidrs: [],
      })
      expect(await operator.get(path)).toSucceedWith({ ...list, cidrs: [] })
      await operator.delete(path)
      expect(await operator.get(record)).toSucceedWith(without)
      expect((await operator.post(record, { ...without, access_lists: list })).data.access_lists).toEqual(
        list,
      )
      expect(await operator.get(path)).toSucceedWith(list)
      await operator.patch(record, { access_lists: null })
      expect(await operator.get(path)).toSucceedWith({})
      await operator.post(path, list)
      await operator.post(record, without)
      expect(await operator.get(path)).toSucceedWith({})
    }
  })

  it('are there with a record that is made with them', async () => {
    const { operator } = world
    const account = await world.account(undefined, { access_lists: list })
    const device = await world.device(account, { access_lists: { ...list, cidrs: [] } })
    expect(await operator.get(`${account.path}/access_lists`)).toSucceedWith(list)
    expect(await operator.get(`${device.path}/access_lists`)).toSucceedWith({ ...list, cidrs: [] })
  })

  it('are validated in the record by the same rules as at their own path, and a refusal stores nothing', async () => {
    const { operator } = world
    for (const path of await places()) {
      const record = path.replace('/access_lists', '')
      const refused: [unknown, Record<string, string[]>][] = [
        [{}, { 'access_lists.order': ['required'], 'access_lists.cidrs': ['required'] }],
        [{ order: 'x', cidrs: [] }, { 'access_lists.order': ['enum'] }],
        [
          { ...list, cidrs: ['192.0.2.0/33', '192.0.2.0/24'], user_agent: '(' },
          { 'access_lists.cidrs.0': ['wrong_format'], 'access_lists.user_agent': ['wrong_format'] },
        ],
        ['everybody', { access_lists: ['type'] }],
      ]
      const { data } = await operator.get(record)
      const before = await world.snapshot()
      for (const [access_lists, rules] of refused) {
        expect(await operator.patch(record, { access_lists })).toBreak(rules)
        expect(await operator.post(record, { ...data, access_lists })).toBreak(rules)
      }
      expect(await world.snapshot()).toEqual(before)
    }
  })

  it('are refused with all that is wrong with them, and nothing is stored', async () => {
    const { operator } = world
    for (const path of await places()) {
      const refused: [object, Record<string, string[]>][] = [
        [{}, { order: ['required'], cidrs: ['required'] }],
        [{ cidrs: [] }, { order: ['required'] }],
        [{ order: 'x', cidrs: [] }, { order: ['enum'] }],
        [{ order: 'allow,deny' }, { cidrs: ['required'] }],
        [{ ...list, cidrs: '192.0.2.0/24' }, { cidrs: ['type'] }],
        [
          { ...list, cidrs: ['192.0.2.0/33', '192.0.2.1', '192.0.2.0/24', '2001:db8::/32', 'x'] },
          {
            'cidrs.0': ['wrong_format'],
            'cidrs.1': ['wrong_format'],
            'cidrs.3': ['wrong_format'],
            'cidrs.4': ['wrong_format'],
          },
        ],
        [{ ...list, user_agent: '(' }, { user_agent: ['wrong_format'] }],
        [{ ...list, user_agent: 'a'.repeat(257) }, { user_agent: ['maxLength'] }],
        [
          { order: 'x', cidrs: ['x'], user_agent: '(' },
          { order: ['enum'], 'cidrs.0': ['wrong_format'], user_agent: ['wrong_format'] },
        ],
      ]
      const before = await world.snapshot()
      for (const [body, rules] of refused) {
        expect(await operator.post(path, body)).toBreak(rules)
      }
      expect(await world.snapshot()).toEqual(before)
    }
  })

  it('need a device that is there', async () => {
    const { ada, acme } = world
    const id = '0'.repeat(32)
    const path = `${acme.path}/devices/${id}/access_lists`
    const data = { message: 'bad identifier', cause: 'Identifier was not found', details: id }
    for (const answer of [await ada.get(path), await ada.post(path, list), await ada.delete(path)]) {
      expect(answer).toFailWith(404, 'bad_identifier', data)
    }
  })

  it('are nothing that users have', async () => {
    const { ada, uli } = world
    const path = `${uli.path}/access_lists`
    const data = { message: 'access lists not supported on this URI path' }
    for (const answer of [await ada.get(path), await ada.post(path, list), await ada.delete(path)]) {
      expect(answer).toFailWith(404, 'faulty_request', data)
    }
  })

  it('are no business of a rival', async () => {
    const { ada, rex, rival, acme } = world
    const device = await world.device(acme)
    const paths = [`${acme.path}/access_lists`, `${device.path}/access_lists`]
    for (const path of paths) await ada.post(path, list)
    const before = await world.snapshot()
    for (const path of paths) {
      for (const answer of [await rex.get(path), await rex.post(path, list), await rex.delete(path)]) {
        expect(answer).toFailWith(403, 'forbidden')
      }
    }
    const foreign = `${rival.path}/devices/${device.id}/access_lists`
    expect(await rex.delete(foreign)).toFailWith(404, 'bad_identifier')
    expect(await world.snapshot()).toEqual(before)
  })

  it('have a revision that the server compares with If-Match', async () => {
    const { operator } = world
    for (const path of await places()) {
      const first = await operator.post(path, list)
      const headers = { 'if-match': String(first.headers.etag) }
      expect(await operator.post(path, { ...list, cidrs: [] }, { headers })).toSucceed()
      expect(await operator.post(path, list, { headers })).toFailWith(412, 'precondition failed')
      expect(await operator.delete(path, undefined, { headers })).toFailWith(412, 'precondition failed')
    }
  })

  it('are written or deleted with If-None-Match: * only while none exist', async () => {
    const { operator } = world
    const headers = { 'if-none-match': '*' }
    for (const path of await places()) {
      expect(await operator.post(path, list, { headers })).toSucceedWith(list)
      await world.unchanged(async () => {
        const other = { ...list, cidrs: [] }
        expect(await operator.post(path, other, { headers })).toFailWith(412, 'precondition failed')
        expect(await operator.delete(path, undefined, { headers })).toFailWith(412, 'precondition failed')
      })
      await operator.delete(path)
      expect(await operator.post(path, list, { headers })).toSucceedWith(list)
    }
  })

  it('go with their device, recorded', async () => {
    const { ada, acme, server } = world
    const device = await world.device(acme)
    await ada.post(`${device.path}/access_lists`, list)
    await ada.post(`${device.path}/rate_limits`, {
      per_minute: { total_packets: 1 },
      per_second: { total_packets: 1 },
    })
    expect(await ada.delete(device.path)).toSucceed()
    const snapshot = await world.snapshot()
    expect(JSON.stringify(snapshot)).not.toContain(device.id)
    const audit = await server.store.all<{ kind: string }>(
      "SELECT kind FROM audit_log WHERE record_id = $1 AND action = 'deleted' ORDER BY kind",
      [device.id],
    )
    expect(audit.map(({ kind }) => kind)).toEqual(['device'])
  })
})
