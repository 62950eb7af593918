// The server serves imported people, calls and settings of a Kazoo like any other record.
import { expect, it } from 'vitest'
import type { Draft } from '../../import-kazoo/documents/document.ts'
import { createTaker } from '../support/kazoo/adoptions.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const [created, modified] = [63_800_000_000, 63_800_000_100]
const idOf = (digit: string) => digit.repeat(32)

describeAnyEngine('records of a Kazoo', (engine) => {
  const { taker, takeIn, takeOut } = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker] })

  const draftOf = (as: string, accountId: string, id: string, doc: Draft['doc']): Draft => ({
    as,
    accountId,
    id,
    created,
    modified,
    doc,
    facts: {},
    files: [],
  })

  const arrivesOnce = async (draft: Draft) => {
    expect(await takeIn(world, [draft])).toEqual([true])
    expect(await world.unchanged(() => takeIn(world, [draft]))).toEqual([false])
  }

  const goesOnce = async (draft: Draft) => {
    expect(await takeOut(world, draft)).toBe(true)
    expect(await world.unchanged(() => takeOut(world, draft))).toBe(false)
  }

  it('are callflows, found by their numbers', async () => {
    const flow = { module: 'response', data: { code: 486 }, children: {} }
    const doc = { numbers: ['2001'], flow, name: 'Busy', mine: 1 }
    const draft = draftOf('callflow', world.acme.id, idOf('1'), doc)
    await arrivesOnce(draft)
    const { data } = await world.ada.get(`${world.acme.path}/callflows/${idOf('1')}`)
    expect(data).toMatchObject({ id: idOf('1'), ...doc, patterns: [] })
    expect((await world.server.areas.callflows.byNumber(world.acme.id, '2001'))?.id).toBe(idOf('1'))
    await goesOnce(draft)
    expect(await world.server.areas.callflows.byNumber(world.acme.id, '2001')).toBeUndefined()
  })

  it('are groups, carriers and trunks', async () => {
    const drafts = [
      draftOf('group', world.acme.id, idOf('2'), {
        name: 'G',
        endpoints: { [world.uli.id]: { type: 'user' } },
      }),
      draftOf('resource', world.acme.id, idOf('3'), {
        name: 'R',
        gateways: [{ server: 'sip.carrier.test' }],
      }),
      draftOf('connectivity', world.acme.id, idOf('4'), {
        name: 'T',
        servers: [{ auth: { auth_user: 'pbx', auth_password: 'pbx-secret-word' } }],
      }),
    ]
    for (const draft of drafts) await arrivesOnce(draft)
    const read = async (path: string) => (await world.ada.get(`${world.acme.path}/${path}`)).data
    expect(await read(`groups/${idOf('2')}`)).toMatchObject({ id: idOf('2'), name: 'G' })
    expect(await read(`resources/${idOf('3')}`)).toMatchObject({ id: idOf('3'), name: 'R', weight_cost: 50 })
    expect(await read(`connectivity/${idOf('4')}`)).toMatchObject({ id: idOf('4'), name: 'T' })
    for (const draft of drafts) await goesOnce(draft)
  })

  it('are webhooks that are switched off', async () => {
    const doc = { name: 'H', uri: 'https://hooks.example/x', hook: 'all', enabled: true }
    const draft = draftOf('webhook', world.acme.id, idOf('5'), doc)
    await arrivesOnce(draft)
    const { data } = await world.ada.get(`${world.acme.path}/webhooks/${idOf('5')}`)
    expect(data).toMatchObject({ id: idOf('5'), ...doc, enabled: false, http_verb: 'post', version: 'v1' })
    await goesOnce(draft)
  })

  it('are alerts, seen by those whom they are for', async () => {
    const draft = draftOf('alert', 'system', idOf('6'), {
      title: 'Maintenance',
      message: 'On Sunday we move.',
      from: [{ type: 'account', value: world.reseller.id }],
      to: [{ type: world.acme.id, value: 'admins' }],
    })
    await arrivesOnce(draft)
    const ids = async (who: typeof world.ada) =>
      (await who.get(`${world.acme.path}/alerts`)).data.map(({ id }: { id: string }) => id)
    expect(await ids(world.ada)).toEqual([idOf('6')])
    expect(await ids(world.uli)).toEqual([])
    await goesOnce(draft)
  })

  it('are settings that hold, without those that could not', async () => {
    const draft = draftOf('setting', 'system', 'number_manager', {
      default: {
        should_age: true,
        aging_expiry_d: 'never',
        e164_converters: { '^2(\\d+)$': { prefix: '+2' } },
      },
      'kazoo@node': { released_state: 'released' },
    })
    await arrivesOnce(draft)
    const { data } = await world.operator.get('/v2/system_configs/number_manager')
    expect(data.default).toMatchObject({
      should_age: true,
      aging_expiry_d: 90,
      e164_converters: { '^2(\\d+)$': { prefix: '+2' } },
    })
    expect(data['kazoo@node']).toEqual({ released_state: 'released' })
    await goesOnce(draft)
  })

  it('are tasks with their files, and none of them starts', async () => {
    const id = 'a'.repeat(30)
    const doc = {
      account_id: world.acme.id,
      auth_account_id: world.reseller.id,
      category: 'number_management',
      action: 'assign_to',
      status: 'internal_error',
      submit_timestamp: created,
      start_timestamp: created + 30,
      end_timestamp: modified,
      total_count: 2,
      success_count: 1,
    }
    const draft = draftOf('task', world.acme.id, id, doc)
    const [input, output] = ['number,account_id\n+1,a\n+2,b\n', 'number,error\n+1,\n']
    const csv = (role: string, text: string) => ({ role, contentType: 'text/csv', bytes: Buffer.from(text) })
    const files = { [id]: [csv('input', input), csv('output', output)] }
    expect(await takeIn(world, [draft], files)).toEqual([true])
    expect(await world.unchanged(() => takeIn(world, [draft], files))).toEqual([false])
    const path = `${world.acme.path}/tasks/${id}`
    expect((await world.ada.get(path)).body.metadata).toEqual({
      id,
      ...doc,
      created,
      csvs: ['in.csv', 'out.csv'],
    })
    expect((await world.ada.get(`${path}/input`)).text).toBe(input)
    expect((await world.ada.get(`${path}/output`)).text).toBe('number,error\r\n+1,\n')
    expect((await world.ada.patch(path)).status).toBe(404)
    expect(await takeIn(world, [{ ...draft, modified: modified + 1 }], files)).toEqual([true])
    await goesOnce(draft)
  })
})
