// Acting as another user.
import { expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { createFaults, says } from '../support/faulty-database.ts'
import { notForCaller } from '../support/refusals.ts'
import { describeAnyEngine, type Person, useWorld } from '../support/world.ts'

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

  it('begins for nobody of whom it cannot be kept', async () => {
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

  it('is refused to everybody else', async () => {
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
