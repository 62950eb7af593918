// Acting as another user.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { createFaults, says } from '../support/servers/faulty-database.ts'
import type { Client } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

const action = { envelope: { action: 'impersonate_user' } }

describeAnyEngine('impersonation', (engine) => {
  const faults = createFaults()
  const world = useWorld(engine, undefined, undefined, { over: faults.over })
  const become = (caller: Client, person: Person) => caller.put(`${person.path}/user_auth`, {}, action)
  const claimsOf = async (token: string | undefined) =>
    (await world.anonymous.post('/v2/auth/tokeninfo', { token })).data

  it('gives an admin of the master account the token of any user below', async () => {
    const answer = await become(world.operator, world.uli)
    expect(answer).toSucceedWith(
      expect.objectContaining({ account_id: world.acme.id, owner_id: world.uli.id }),
    )
    expect(await claimsOf(answer.body.auth_token)).toMatchObject({
      account_id: world.acme.id,
      owner_id: world.uli.id,
      original_account_id: world.master.id,
      original_owner_id: world.operator.id,
    })
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    expect(await session.get(world.uli.path)).toSucceed()
    expect(await session.get(world.master.path)).toFailWith(403, 'forbidden', notForCaller)
  })

  it('keeps who did it: in the log of sign-ins, and with whatever is done', async () => {
    const account = await world.account()
    const target = await world.user(account)
    const session = world.clientWithToken((await become(world.operator, target)).body.auth_token ?? '')
    expect(await session.patch(target.path, { last_name: 'Changed' })).toSucceed()
    const attempts = await world.operator.get(`${account.path}/security/attempts`)
    expect(attempts.data).toEqual([
      expect.objectContaining({
        auth_type: 'impersonation',
        status: 'success',
        message: `impersonated by user ${world.operator.id} of account ${world.master.id}`,
      }),
    ])
    const [entry] = await world.server.store.all<{ author: string }>(
      "SELECT author FROM audit_log WHERE record_id = $1 AND action = 'edited'",
      [target.id],
    )
    expect(JSON.parse(entry?.author ?? '{}')).toMatchObject({
      authUserId: target.id,
      originalAuthAccountId: world.master.id,
      originalAuthUserId: world.operator.id,
    })
  })

  it('does not begin when it cannot be recorded', async () => {
    const target = await world.user(await world.account())
    faults.state.onWrite = (write) => (says(write, 'INSERT INTO records') ? 'refused' : undefined)
    const answer = await world.unchanged(() => become(world.operator, target))
    faults.mend()
    expect(answer).toFailWith(503, 'datastore_unreachable', { message: 'datastore unreachable' })
    expect(answer.body.auth_token).toBe(world.operator.token)
    world.takeErrors()
  })

  it('lets the API key of the master account act as its own users', async () => {
    const key = await world.keyHolder(world.master)
    expect(await become(key, world.operator)).toSucceed()
    expect(await become(key, world.ada)).toSucceed()
  })

  it('is refused to all other callers', async () => {
    const clerk = await world.user(world.master)
    const cases: [Client, Person][] = [
      [world.operator, clerk],
      [clerk, world.uli],
      [world.ross, world.uli],
      [world.ada, world.uli],
      [world.acmeKey, world.uli],
      [world.rex, world.uli],
    ]
    for (const [caller, target] of cases) {
      expect(await become(caller, target)).toFailWith(403, 'forbidden', notForCaller)
    }
  })

  it('names the first of a chain', async () => {
    const equal = await world.account()
    await world.operator.patch(equal.path, { superduper_admin: true })
    const eve = await world.admin(equal)
    const first = await become(world.operator, eve)
    const second = await become(world.clientWithToken(first.body.auth_token ?? ''), world.uli)
    expect(await claimsOf(second.body.auth_token)).toMatchObject({
      owner_id: world.uli.id,
      original_account_id: world.master.id,
      original_owner_id: world.operator.id,
    })
  })

  /** An admin of a superduper account, and a session in which that admin acts as a customer's user. */
  const acting = async () => {
    const account = await world.account()
    expect(await world.operator.patch(account.path, { superduper_admin: true })).toSucceed()
    const boss = await world.again(await world.admin(account, { username: 'boss', password: 'first-secret' }))
    const target = await world.user(world.acme)
    const { auth_token: token = '' } = (await become(boss, target)).body
    const session = world.clientWithToken(token)
    expect(await session.get(target.path)).toSucceed()
    return { account, boss, target, session }
  }
  type Acting = Awaited<ReturnType<typeof acting>>

  const reset = { envelope: { action: 'reset_signature_secret' } }

  it.each<[string, (one: Acting) => Promise<unknown>]>([
    ['a log-out of the session that created it', ({ boss }) => boss.delete('/v2/token_auth')],
    ['a new password of the impersonator', ({ boss }) => boss.patch(boss.path, { password: 'other-secret' })],
    ['the end of all sessions of the impersonator', ({ boss }) => boss.put(`${boss.path}/auth`, {}, reset)],
    [
      'the end of all sessions of the account of the impersonator',
      ({ boss, account }) => boss.put(`${account.path}/auth`, {}, reset),
    ],
    [
      'the demotion of the impersonator',
      ({ boss }) => world.operator.patch(boss.path, { priv_level: 'user' }),
    ],
    ['the disabling of the impersonator', ({ boss }) => world.operator.patch(boss.path, { enabled: false })],
    ['the deletion of the impersonator', ({ boss }) => world.operator.delete(boss.path)],
    [
      'scope restrictions of the impersonator',
      ({ boss }) => world.operator.patch(boss.path, { scope_restrictions: ['devices:read'] }),
    ],
    [
      'the end of superduper rights of the account',
      ({ account }) => world.operator.patch(account.path, { superduper_admin: false }),
    ],
    [
      'the disabling of the account of the impersonator',
      ({ account }) => world.operator.patch(account.path, { enabled: false }),
    ],
  ])('ends with %s, while other impersonations continue', async (_title, end) => {
    const one = await acting()
    const other = await acting()
    expect(await end(one)).toSucceed()
    expect((await one.session.get(one.target.path)).status).toBe(401)
    expect((await one.session.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } })).status).toBe(
      401,
    )
    expect(await other.session.get(other.target.path)).toSucceed()
  })

  it('ends with each session of a chain', async () => {
    const { boss } = await acting()
    const equal = await world.account()
    await world.operator.patch(equal.path, { superduper_admin: true })
    const eve = await world.admin(equal)
    const asEve = world.clientWithToken((await become(boss, eve)).body.auth_token ?? '')
    const asUli = world.clientWithToken((await become(asEve, world.uli)).body.auth_token ?? '')
    expect(await asUli.get(world.uli.path)).toSucceed()
    expect(await boss.delete('/v2/token_auth')).toSucceed()
    expect((await asEve.get(eve.path)).status).toBe(401)
    expect((await asUli.get(world.uli.path)).status).toBe(401)
  })

  const endOf = (token = ''): number =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).exp
  const renew = { envelope: { action: 'refresh_token' } }

  it('is never renewed beyond the session that created it', async () => {
    const { account, boss, target } = await acting()
    const token = await world.tokenOf(account, boss.id)
    const session = world.clientWithToken(
      (await become(world.clientWithToken(token), target)).body.auth_token ?? '',
    )
    world.clock.advance({ minutes: 30 })
    const renewed = await session.put('/v2/auth', {}, renew)
    expect(renewed).toSucceed()
    expect(endOf(renewed.body.auth_token)).toBe(endOf(token))
    expect((await claimsOf(renewed.body.auth_token)).original_owner_id).toBe(boss.id)
    expect(await world.clientWithToken(token).delete('/v2/token_auth')).toSucceed()
    expect((await world.clientWithToken(renewed.body.auth_token ?? '').get(target.path)).status).toBe(401)
  })

  it('that Basic credentials began ends after the usual lifetime of a token', async () => {
    const { account, boss, target } = await acting()
    const text = `${account.id}:${credentialsOf('boss', 'first-secret')}`
    const authorization = `Basic ${Buffer.from(text).toString('base64')}`
    const begun = await become(world.anonymous.with({ authorization }), target)
    expect(begun).toSucceed()
    const end = endOf(await world.tokenOf(account, boss.id))
    world.clock.advance({ minutes: 30 })
    const session = world.clientWithToken(begun.body.auth_token ?? '')
    const renewed = await session.put('/v2/auth', {}, renew)
    expect(renewed).toSucceed()
    expect(endOf(renewed.body.auth_token)).toBe(end)
  })

  it('needs a connection that the impersonator may use, too', async () => {
    const { boss, target, session } = await acting()
    expect(await world.operator.patch(boss.path, { allowed_proxy_ips: ['192.0.2.1'] })).toSucceed()
    expect(await session.get(target.path)).toFailWith(403, 'forbidden')
    expect(await world.operator.patch(boss.path, { allowed_proxy_ips: ['127.0.0.1'] })).toSucceed()
    expect(await session.get(target.path)).toSucceed()
  })

  it('needs its action', async () => {
    const path = `${world.uli.path}/user_auth`
    expect(await world.operator.put(path, {})).toFailWith(400, 'action required', {})
    expect(await world.operator.put(path, {}, { envelope: { action: 'other' } })).toFailWith(
      400,
      'invalid action',
      {},
    )
  })

  it('does not bring a disabled user back', async () => {
    const target = await world.user(world.acme, { enabled: false })
    expect(await become(world.operator, target)).toBreak({ user: ['disabled'] })
  })
})
