// Fields of accounts and users that ordinary users can neither change nor remove. Those of brands: host-names.test.ts.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Answer } from '../support/world/client.ts'
import { describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

const message = 'Only an admin may change this'

interface Target {
  by: Person
  path: string
  record: Json
}

type Attempt = readonly [way: string, act: () => Promise<Answer>]

/** The ways in which a request can lose a field. */
const lossesOf = ({ by, path, record }: Target, field: string, empty?: unknown): Attempt[] => {
  const { [field]: _, ...others } = record
  const values = empty === undefined ? [null] : [null, empty]
  return [
    ['POST without it', () => by.post(path, others)],
    ...values.flatMap((value): Attempt[] => [
      [`POST ${JSON.stringify(value)}`, () => by.post(path, { ...others, [field]: value })],
      [`PATCH ${JSON.stringify(value)}`, () => by.patch(path, { [field]: value })],
    ]),
  ]
}

describeAnyEngine('guarded fields', (engine) => {
  const world = useWorld(engine)

  /** An account that has all guarded fields, as its ordinary user reads it. */
  const guardedAccount = async () => {
    const account = await world.account(world.reseller)
    const trial = { trial_expires: gregorianNow(world.clock) + 100_000 }
    const given = {
      ...trial,
      allowed_proxy_ips: ['127.0.0.0/8'],
      lends_bookkeepers_to: [world.acme.id],
      wnm_allow_additions: true,
    }
    expect(await world.operator.patch(account.path, given)).toSucceed()
    const by = await world.user(account)
    const { data: record } = await by.get(account.path)
    return { account, by, path: account.path, record: record as Json }
  }

  it('of an account: the realm is changed by admins', async () => {
    const target = await guardedAccount()
    const { by, path, record, account } = target
    for (const realm of [`new.${account.realm}`, account.realm.toUpperCase()]) {
      const attempts = [() => by.patch(path, { realm }), () => by.post(path, { ...record, realm })]
      for (const attempt of attempts)
        expect(await world.refused(attempt)).toFailWith(400, 'validation error', {
          realm: { forbidden: { message, cause: 'realm' } },
        })
    }
    expect(await by.patch(path, { realm: account.realm, org: 'Acme Ltd' })).toSucceed()
    const admin = await world.admin(account)
    expect(await admin.patch(path, { realm: `new.${account.realm}` })).toSucceed()
  })

  it('of an account: the allowed proxies are removed by admins', async () => {
    const target = await guardedAccount()
    for (const [way, act] of lossesOf(target, 'allowed_proxy_ips', []))
      expect([way, (await world.refused(act)).data]).toEqual([
        way,
        { allowed_proxy_ips: { forbidden: { message } } },
      ])
    const admin = await world.admin(target.account)
    expect(await admin.patch(target.path, { allowed_proxy_ips: null })).toSucceed()
  })

  it('of an account: bookkeepers are no longer lent only if admins say so', async () => {
    const target = await guardedAccount()
    const empty = { lends_bookkeepers_to: [] }
    for (const act of [
      () => target.by.patch(target.path, empty),
      () => target.by.post(target.path, { ...target.record, ...empty }),
    ])
      expect(await world.refused(act)).toFailWith(403, 'forbidden', {
        message: 'forbidden',
        cause: 'only admins may change lends_bookkeepers_to',
      })
  })

  const keptFields: [field: string, empty: unknown][] = [
    ['realm', ''],
    ['enabled', false],
    ['trial_expires', undefined],
    ['lends_bookkeepers_to', undefined],
    ['superduper_admin', false],
    ['wnm_allow_additions', false],
    ['is_reseller', true],
    ['descendants_count', 7],
  ]

  it.each(keptFields)(
    'of an account keep their value in requests that lose them: %s',
    async (field, empty) => {
      const target = await guardedAccount()
      for (const [way, act] of lossesOf(target, field, empty)) {
        expect(await act()).toSucceed()
        const { data } = await world.operator.get(target.path)
        expect([way, data[field]]).toEqual([way, target.record[field]])
      }
    },
  )

  const ofUsers: readonly (readonly [field: string, value: unknown, problem: Json])[] = [
    ['username', 'zoe', { message, cause: 'username' }],
    ['email', 'zoe@acme.test', { message, cause: 'email' }],
    ['require_password_update', true, { message, cause: 'require_password_update' }],
    ['enabled', false, { message, cause: 'enabled' }],
    ['scope_restrictions', ['users:read'], { message, cause: 'scope_restrictions' }],
    ['allowed_proxy_ips', ['192.0.2.1'], { message }],
  ]

  it.each(ofUsers)('of another user are removed by admins: %s', async (field, value, forbidden) => {
    const account = await world.account(world.reseller)
    const other = await world.user(account, { [field]: value })
    const by = await world.user(account)
    const { data: record } = await by.get(other.path)
    const target = { by, path: other.path, record: record as Json }
    for (const [way, act] of lossesOf(target, field))
      expect([way, (await world.refused(act)).data]).toEqual([way, { [field]: { forbidden } }])
  })

  it('of an admin stay: an ordinary user cannot take away the level of an admin', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const by = await world.user(account)
    const { data: record } = await by.get(admin.path)
    const target = { by, path: admin.path, record: record as Json }
    for (const [way, act] of lossesOf(target, 'priv_level')) {
      const { status, data } = await world.refused(act)
      expect([way, status, Object.keys(data)]).toEqual([way, 400, ['priv_level']])
    }
  })
})
