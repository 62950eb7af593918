import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type FieldRow, itHoldsRows } from '../support/matchers/field-rows.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const anId = expect.stringMatching(/^[0-9a-f]{32}$/)
const somebody = '0'.repeat(32)

const rows: FieldRow[] = [
  {
    says: 'title, message: string, required',
    takes: ['Works tonight'],
    refuses: { required: [undefined], type: [true], minLength: [''] },
  },
  {
    says: 'category: string',
    takes: [
      'port_action_required',
      'port_suspended',
      'low_balance',
      'no_payment_token',
      'expired_payment_token',
    ],
    refuses: { type: [5] },
  },
  {
    says: 'level: string, `info` by default',
    takes: ['info', 'warning'],
    refuses: { type: [5] },
  },
  {
    says: 'expiration_date: integer, Gregorian seconds',
    takes: [63_999_999_999],
    refuses: { type: ['tomorrow', 1.5] },
  },
  {
    says: 'metadata: array of object, of name, state, transition, available, threshold',
    takes: [
      [],
      [
        { name: '+14155550100', state: 'port_in', transition: [{}] },
        { available: 1.5, threshold: 5 },
      ],
    ],
    refuses: {
      type: ['low'],
      '0.type': [['low']],
      '0.name.type': [[{ name: 5 }]],
      '0.state.type': [[{ state: 5 }]],
      '0.transition.type': [[{ transition: 'x' }]],
      '0.available.type': [[{ available: 'x' }]],
      '0.threshold.type': [[{ threshold: 'x' }]],
    },
  },
  {
    says: 'from: array of object with type, `account` or `user`, and value, its id; required',
    takes: [[{ type: 'account', value: somebody }], [{ type: 'user', value: somebody }]],
    refuses: {
      required: [undefined],
      type: ['me'],
      '0.type': [['me']],
      '0.type.enum': [[{ type: 'robot', value: somebody }]],
      '0.value.required': [[{ type: 'account' }]],
    },
  },
  {
    says: 'to: array of object with type, `admins`, `user` or `resellers`, and value, an id; required',
    takes: [
      [{ type: 'admins', value: somebody }],
      [{ type: 'user', value: somebody }],
      [{ type: 'resellers', value: somebody }],
    ],
    refuses: {
      required: [undefined],
      type: ['you'],
      '0.type': [['you']],
      '0.enum': [[{ type: 'friends', value: somebody }]],
      '0.value.required': [[{ type: 'admins' }]],
    },
  },
]

describeAnyEngine('The alert', (engine) => {
  const world = useWorld(engine)
  const at = ({ path }: TestAccount) => `${path}/alerts`
  const toAdmins = (account: TestAccount) => ({
    title: 'Works tonight',
    message: 'From 2 to 3 o’clock',
    from: [{ type: 'account', value: world.master.id }],
    to: [{ type: 'admins', value: account.id }],
  })

  let last = ''
  const write = async (fields: Json) => {
    const answer = await world.operator.put(at(world.master), { ...toAdmins(world.acme), ...fields })
    last = answer.data.id
    return answer
  }

  itHoldsRows(world, rows, {
    write,
    read: () => world.operator.get(`${at(world.master)}/${last}`),
    shows: (fields) => ({ id: anId, level: 'info', ...toAdmins(world.acme), ...fields }),
  })

  it('id: assigned', async () => {
    const { data } = await write({ id: somebody })
    expect(data).toEqual({ id: anId, level: 'info', ...toAdmins(world.acme) })
    expect(data.id).not.toBe(somebody)
  })

  it('of a list has id, key (recipient type and id), value and clearable', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const { title, message, from, to } = toAdmins(account)
    const { data } = await world.operator.put(at(account), { title, message, from, to, category: 'works' })
    const value = {
      id: data.id,
      title,
      message,
      category: 'works',
      level: 'info',
      from,
      created: nowOf(world),
    }
    expect(await admin.get(at(account))).toSucceedWith([
      { ...value, key: [account.id, 'admins'], value, clearable: true },
    ])
  })

  it('clearable: boolean, when true the alert may be removed', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const { data } = await world.operator.put(at(account), toAdmins(account))
    await world.operator.put(`${account.path}/phone_numbers/%2B14155550100`, { create_with_state: 'port_in' })
    const clearable = async () =>
      (await admin.get(at(account))).data.map(({ id, clearable }: Json) => [id, clearable])
    expect(await clearable()).toEqual([
      ['+14155550100', false],
      [data.id, true],
    ])
    expect(await admin.delete(`${at(account)}/${data.id}`)).toSucceed()
    await world.unchanged(async () => {
      expect(await admin.delete(`${at(account)}/%2B14155550100`)).toFailWith(403, 'forbidden')
    })
    expect(await clearable()).toEqual([['+14155550100', false]])
  })

  const categories = async (who: Person, account: TestAccount) =>
    (await who.get(at(account))).data.map(({ category }: Json) => category).sort()

  it('is generated for financial notices: low balance and payment token', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const plan = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan: {} })
    await world.ross.post(`${account.path}/services`, { add: [plan.data.id] })
    expect(await categories(admin, account)).toEqual(['low_balance', 'no_payment_token'])
    await world.credit(account, 10)
    expect(await categories(admin, account)).toEqual(['no_payment_token'])
  })

  it('is generated for port actions', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.operator.put(`${account.path}/phone_numbers/%2B14155550101`, { create_with_state: 'port_in' })
    expect(await categories(admin, account)).toEqual(['port_action_required'])
  })

  it('is generated for provisioning errors', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    // No server listens there.
    await world.configure('provisioner', { provisioning_url: 'http://127.0.0.1:9/phones' })
    await world.device(account, {
      mac_address: '00:11:22:33:44:55',
      provision: { endpoint_brand: 'yealink' },
    })
    await world.server.scheduler.runNow('provisioning')
    await world.configure('provisioner', { provisioning_url: undefined })
    expect(await categories(admin, account)).toEqual(['provisioner'])
  })

  it('is not generated while `enabled` under the alert system configuration is false', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.operator.put(`${account.path}/phone_numbers/%2B14155550102`, { create_with_state: 'port_in' })
    const settings = '/v2/system_configs/alerts'
    expect(await world.operator.patch(settings, { default: { enabled: false } })).toSucceed()
    expect(await categories(admin, account)).toEqual([])
    expect(await world.unchanged(() => write({}))).toFailWith(400, 'disabled', { message: 'entity disabled' })
    expect(await world.operator.patch(settings, { default: { enabled: true } })).toSucceed()
    expect(await categories(admin, account)).toEqual(['port_action_required'])
  })

  it('is visible only to its recipients and those above them', async () => {
    const { data } = await world.operator.put(at(world.acme), toAdmins(world.acme))
    const path = `${at(world.acme)}/${data.id}`
    for (const person of [world.ada, world.ross]) expect(await person.get(path)).toSucceedWith(data)
    expect(await world.uli.get(path)).toFailWith(404, 'bad_identifier')
    expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
  })
})
