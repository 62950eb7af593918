// At least one admin can always sign in to the master account.
import { expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import { createTestLog } from '../support/run/log.ts'
import { type Client, clientWithToken, createTransport } from '../support/world/client.ts'
import { describeEngines, type Person, useWorld } from '../support/world/world.ts'

const message = 'The last enabled admin of the master account cannot be changed: create another one first'

const names = { first_name: 'Account', last_name: 'Admin' }

describeEngines('the last admin of the master account', (engine) => {
  const world = useWorld(engine)

  /** Also sends requests to another process of the same store. It ends soon: only one of them runs scheduled jobs. */
  const beside = async (race: (elsewhere: (person: Person) => Client) => Promise<void>) => {
    const { log } = createTestLog()
    const second = await startServer(world.config, { clock: world.clock, log })
    const transport = createTransport(second.port)
    try {
      await race(({ token }) => clientWithToken(transport.send, token))
    } finally {
      transport.close()
      await second.stop()
    }
  }

  const refusedFor = (field: string) => ({ [field]: { forbidden: { message, cause: field } } })

  const actingAdmins = async (by: Person) => {
    const { data } = await by.get(`${world.master.path}/users`, { query: { filter_priv_level: 'admin' } })
    const all = await Promise.all(
      data.map(({ id }: { id: string }) => by.get(`${world.master.path}/users/${id}`)),
    )
    return all.filter((answer) => answer.data.enabled).map((answer) => answer.data.id)
  }

  it('is not disabled, by PATCH or POST', async () => {
    const { operator } = world
    const patched = await world.unchanged(() => operator.patch(operator.path, { enabled: false }))
    expect(patched).toFailWith(400, 'validation error', refusedFor('enabled'))
    const whole = { ...names, username: 'operator', priv_level: 'admin', enabled: false }
    const posted = await world.unchanged(() => operator.post(operator.path, whole))
    expect(posted).toFailWith(400, 'validation error', refusedFor('enabled'))
  })

  it('is not made an ordinary user, by setting the level or by leaving it out', async () => {
    const { operator } = world
    const patched = await world.unchanged(() => operator.patch(operator.path, { priv_level: 'user' }))
    expect(patched).toFailWith(400, 'validation error', refusedFor('priv_level'))
    const posted = await world.unchanged(() =>
      operator.post(operator.path, { ...names, username: 'operator' }),
    )
    expect(posted).toFailWith(400, 'validation error', refusedFor('priv_level'))
  })

  it('keeps a name to sign in with', async () => {
    const { operator } = world
    const answer = await world.unchanged(() =>
      operator.post(operator.path, { ...names, priv_level: 'admin' }),
    )
    expect(answer).toFailWith(400, 'validation error', refusedFor('username'))
  })

  it('cannot be deleted by any caller', async () => {
    const { operator } = world
    const equal = await world.account()
    await operator.patch(equal.path, { superduper_admin: true })
    for (const caller of [operator, await world.admin(equal), await world.keyHolder(world.master)]) {
      const answer = await world.unchanged(() => caller.delete(operator.path))
      expect(answer).toFailWith(403, 'forbidden', { message, cause: operator.id })
    }
  })

  it('is the last one even if there are admins that cannot sign in', async () => {
    const { operator } = world
    const disabled = await world.admin(world.master, { enabled: false })
    const ordinary = await world.user(world.master)
    const answer = await world.unchanged(() => operator.patch(operator.path, { enabled: false }))
    expect(answer).toFailWith(400, 'validation error', refusedFor('enabled'))
    for (const { path } of [disabled, ordinary]) expect(await operator.delete(path)).toSucceed()
  })

  it('is one of several no longer once there is another', async () => {
    const { operator } = world
    const deputy = await world.admin(world.master)
    expect(await deputy.patch(operator.path, { enabled: false })).toSucceed()
    expect(await world.unchanged(() => deputy.patch(deputy.path, { enabled: false }))).toFailWith(
      400,
      'validation error',
      refusedFor('enabled'),
    )
    expect(await deputy.patch(operator.path, { enabled: true })).toSucceed()
    expect(await operator.delete(deputy.path)).toSucceed()
  })

  it('stays in each account but the one on top only as its people like', async () => {
    const account = await world.account()
    const only = await world.admin(account)
    expect(await only.patch(only.path, { priv_level: 'user' })).toSucceed()
  })

  it('is left when the last two remove each other at once, whichever process each asks', async () => {
    const { operator } = world
    const ways = [
      (by: Client, whom: Person) => by.patch(whom.path, { enabled: false }),
      (by: Client, whom: Person) => by.patch(whom.path, { priv_level: 'user' }),
      (by: Client, whom: Person) => by.delete(whom.path),
    ] as const
    const races = ways.flatMap((first) =>
      ways.flatMap((other) => [false, true].map((isElsewhere) => ({ first, other, isElsewhere }))),
    )
    await beside(async (elsewhere) => {
      for (const { first, other, isElsewhere } of races) {
        const [ann, ben] = await Promise.all([world.admin(world.master), world.admin(world.master)])
        expect(await ann.patch(operator.path, { enabled: false })).toSucceed()
        const answers = await Promise.all([first(ann, ben), other(isElsewhere ? elsewhere(ben) : ben, ann)])
        // An admin that is already disabled or deleted may get another error.
        expect(answers.map(({ status }) => status < 300).sort()).toEqual([false, true])
        const survivor = answers[0].status < 300 ? ann : ben
        expect(await actingAdmins(survivor)).toEqual([survivor.id])
        expect(await survivor.patch(operator.path, { enabled: true })).toSucceed()
        for (const { path } of [ann, ben]) await operator.delete(path)
      }
    })
  })

  it('goes with no change of the account itself', async () => {
    const { operator, master } = world
    const equal = await world.account()
    await operator.patch(equal.path, { superduper_admin: true })
    const peer = await world.admin(equal)
    for (const caller of [operator, peer]) {
      expect(await caller.patch(master.path, { enabled: false })).toSucceed()
      expect((await operator.get(master.path)).data.enabled).toBe(true)
    }
    expect(await world.unchanged(() => peer.delete(master.path))).toFailWith(405, 'invalid_method')
    const moved = await world.unchanged(() => peer.post(`${master.path}/move`, { to: equal.id }))
    expect(moved.status).toBe(403)
  })
})
