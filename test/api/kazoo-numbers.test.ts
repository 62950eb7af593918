// Numbers of another system are stored unchanged, also if the API would reject them.
import { expect, it } from 'vitest'
import type { Draft } from '../../import-kazoo/documents/document.ts'
import { createTaker } from '../support/kazoo/adoptions.ts'
import { createNumberSource, pathOf } from '../support/world/numbers.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const [created, modified] = [63_800_000_000, 63_800_000_100]

describeEngines('numbers of a Kazoo', (engine) => {
  const { taker, takeIn, takeOut } = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker] })
  const number = createNumberSource('+1415556')

  const draftOf = (
    id: string,
    accountId: string,
    facts: Draft['facts'] = {},
    doc: Draft['doc'] = {},
  ): Draft => ({
    as: 'number',
    accountId,
    id,
    created,
    modified,
    doc,
    facts: {
      state: accountId ? 'in_service' : 'available',
      carrier: 'knm_local',
      usedBy: '',
      hidden: { features: { local: {} } },
      ...facts,
    },
    files: [],
  })

  const countsOf = async ({ id }: TestAccount) => {
    await world.server.scheduler.runNow('quantities')
    const { phone_numbers, number_services, number_carriers } =
      await world.server.areas.services.quantities.own(id)
    return { phone_numbers, number_services, number_carriers }
  }

  it('are served with their times and features, and arrive once', async () => {
    const account = await world.account(world.reseller)
    const id = number()
    const address = {
      street_address: '1 Main St',
      locality: 'San Francisco',
      region: 'CA',
      postal_code: '94110',
      caller_name: 'Acme',
    }
    const doc = { e911: address, cnam: { display_name: 'Acme' }, custom: { mine: 1 } }
    const features = { local: {}, e911: address, outbound_cnam: { display_name: 'Acme' } }
    const hidden = { features, reserveHistory: [world.reseller.id], locality: { city: 'San Francisco' } }
    const draft = draftOf(id, account.id, { usedBy: 'callflow', hidden }, doc)
    expect(await takeIn(world, [draft])).toEqual([true])
    const available = ['carrier_name', 'force_outbound', 'prepend', 'ringback']
    const answer = await world.operator.get(pathOf(account, id))
    expect(answer).toSucceedWith({
      id,
      state: 'in_service',
      used_by: 'callflow',
      features: ['e911', 'local', 'outbound_cnam'],
      ...doc,
    })
    expect(answer.body.metadata).toEqual({
      id,
      created,
      modified,
      carrier_module: 'local',
      features: { available, settings: { e911: { provider: 'none' } } },
    })
    const { data } = await world.operator.get(`${account.path}/phone_numbers`)
    expect(data.numbers).toEqual({
      [id]: {
        state: 'in_service',
        features: ['e911', 'local', 'outbound_cnam'],
        features_available: available,
        assigned_to: account.id,
        used_by: 'callflow',
        created,
        updated: modified,
        locality: { city: 'San Francisco' },
      },
    })
    expect(await countsOf(account)).toEqual({
      number_carriers: { knm_local: 1 },
      number_services: { e911: 1, local: 1, outbound_cnam: 1 },
    })
    expect(await world.unchanged(() => takeIn(world, [draft]))).toEqual([false])
  })

  it('come into their account by the hundred, with one entry of the audit', async () => {
    const account = await world.account(world.reseller)
    const drafts = Array.from({ length: 500 }, (_, index) =>
      draftOf(`+1415557${String(index).padStart(4, '0')}`, account.id, {
        carrier: 'knm_telnyx',
        hidden: { features: {} },
      }),
    )
    expect(new Set(await takeIn(world, drafts))).toEqual(new Set([true]))
    expect(await countsOf(account)).toEqual({
      phone_numbers: { did_us: 500 },
      number_carriers: { knm_telnyx: 500 },
    })
    const entries = await world.server.store.all(
      "SELECT kind, record_id AS id FROM audit_log WHERE account_id = $1 AND kind <> 'account'",
      [account.id],
    )
    expect(entries).toEqual([{ kind: 'import', id: 'number' }])
  })

  it('move to another account and are removed, and the counts follow', async () => {
    const [first, second] = [await world.account(world.reseller), await world.account(world.reseller)]
    const id = number()
    const facts = { carrier: 'knm_telnyx', hidden: { features: {} } }
    await takeIn(world, [draftOf(id, first.id, facts)])
    expect(await takeIn(world, [draftOf(id, second.id, facts)])).toEqual([true])
    expect(await countsOf(first)).toEqual({})
    expect(await countsOf(second)).toEqual({
      phone_numbers: { did_us: 1 },
      number_carriers: { knm_telnyx: 1 },
    })
    expect(await world.operator.get(pathOf(first, id))).toFailWith(404, 'bad_identifier')
    expect(await takeOut(world, draftOf(id, second.id, facts))).toBe(true)
    expect(await takeOut(world, draftOf(id, second.id, facts))).toBe(false)
    expect(await countsOf(second)).toEqual({})
    expect(await world.operator.get(pathOf(second, id))).toFailWith(404, 'bad_identifier')
  })

  it('that are known only from other documents are replaced by those of the inventory, and never replace them', async () => {
    const account = await world.account(world.reseller)
    const id = number()
    const facts = { carrier: 'knm_telnyx', hidden: { features: {} } }
    const told: Draft = {
      ...draftOf(id, account.id, { ...facts, state: 'port_in' }),
      as: 'number_by_hearsay',
    }
    const state = async () => (await world.operator.get(pathOf(account, id))).data.state
    expect(await takeIn(world, [told])).toEqual([true])
    expect(await state()).toBe('port_in')
    expect(await takeOut(world, draftOf(id, account.id))).toBe(false)
    expect(await takeIn(world, [draftOf(id, account.id, facts)])).toEqual([true])
    expect(await state()).toBe('in_service')
    expect(await world.unchanged(() => takeIn(world, [told]))).toEqual([false])
    expect(await world.unchanged(() => takeOut(world, told))).toBe(false)
    expect(await takeOut(world, draftOf(id, account.id))).toBe(true)
    expect(await takeIn(world, [told])).toEqual([true])
    expect(await takeOut(world, told)).toBe(true)
    expect(await countsOf(account)).toEqual({})
  })

  it('leave one account and come to another in one go', async () => {
    const [first, second] = [await world.account(world.reseller), await world.account(world.reseller)]
    const id = number()
    const facts = { carrier: 'knm_telnyx', hidden: { features: {} } }
    await takeIn(world, [draftOf(id, first.id, facts)])
    expect(await takeIn(world, [draftOf(id, second.id, facts)], {}, [draftOf(id, first.id, facts)])).toEqual([
      true,
    ])
    expect(await countsOf(first)).toEqual({})
    expect(await countsOf(second)).toEqual({
      phone_numbers: { did_us: 1 },
      number_carriers: { knm_telnyx: 1 },
    })
    expect((await world.operator.get(pathOf(second, id))).data).toEqual({ id, state: 'in_service' })
  })

  it('that no account owns are available to every account', async () => {
    const id = '+16175560001'
    await takeIn(world, [draftOf(id, '')])
    const found = await world.ada.get(`${world.acme.path}/phone_numbers`, {
      query: { prefix: '617', quantity: 1 },
    })
    expect(found).toSucceedWith([{ number: id, state: 'available' }])
  })

  it('that an account has in stock are found by it unless they are taken', async () => {
    await world.configure('number_manager', { carrier_modules: ['knm_managed'] })
    const [free, taken] = ['+16185560001', '+16185560002']
    const stock = (id: string, isTaken: boolean): Draft => ({
      ...draftOf(id, world.acme.id),
      as: 'pool_number',
      facts: { carrier: 'knm_managed', isTaken },
    })
    expect(await takeIn(world, [stock(free, false), stock(taken, true)])).toEqual([true, true])
    expect(await world.unchanged(() => takeIn(world, [stock(free, false), stock(taken, true)]))).toEqual([
      false,
      false,
    ])
    const search = () =>
      world.ada.get(`${world.acme.path}/phone_numbers`, { query: { prefix: '618', quantity: 9 } })
    expect((await search()).data).toEqual([{ number: free, state: 'discovery' }])
    expect(await takeIn(world, [stock(taken, false)])).toEqual([true])
    expect(await takeOut(world, stock(free, false))).toBe(true)
    expect(await takeOut(world, stock(free, false))).toBe(false)
  })
})
