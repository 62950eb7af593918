// What an ordinary user (`priv_level` user) may do with the own account's powers, with other accounts and with people.
import { expect, it } from 'vitest'
import { credentialsOf, describeAnyEngine, type Person, useWorld } from '../support/world.ts'

describeAnyEngine('ordinary users', (engine) => {
  const world = useWorld(engine)

  it('do not make themselves admins, not even in the master account', async () => {
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account)
      const answer = await world.unchanged(() => person.patch(person.path, { priv_level: 'admin' }))
      expect(answer).toFailWith(400, 'validation error', {
        priv_level: { forbidden: { message: 'Only an admin may create or change an admin', cause: 'admin' } },
      })
    }
  })

  it('make no admins beside themselves, and do not change or remove one', async () => {
    const olaf = await world.user(world.master)
    const people = `${world.master.path}/users`
    const admin = { first_name: 'A', last_name: 'B', priv_level: 'admin' }
    const attempts = await world.unchanged(() =>
      Promise.all([
        olaf.put(people, admin),
        olaf.patch(world.operator.path, { first_name: 'Mine' }),
        olaf.delete(world.operator.path),
      ]),
    )
    for (const answer of attempts) expect(answer).toBreak({ priv_level: ['forbidden'] })
  })

  it('have no power over other accounts: admins of their account have it', async () => {
    const olaf = await world.user(world.master)
    const rita = await world.user(world.reseller)
    const attempts = await world.unchanged(async () => {
      const answers = []
      for (const person of [olaf, rita]) {
        answers.push(
          await person.get(world.acme.path),
          await person.patch(world.acme.path, { enabled: false }),
          await person.get(`${world.acme.path}/users`),
          await person.patch(world.uli.path, { password: 'another-one' }),
          await person.put(`${world.acme.path}/ledgers/credit`, {}),
        )
      }
      answers.push(
        await olaf.get('/v2/about'),
        await olaf.get('/v2/system_configs'),
        await olaf.get(`${world.master.path}/api_key`),
        await olaf.put('/v2/auth', {}, { envelope: { action: 'reset_signature_secret' } }),
        await olaf.put('/v2/cdrs', []),
        await olaf.put(`${world.acme.path}/reseller`, {}),
        await olaf.put(`${world.uli.path}/user_auth`, {}, { envelope: { action: 'impersonate_user' } }),
      )
      return answers
    })
    for (const answer of attempts) expect(answer).toFailWith(403, 'forbidden')
  })

  it('of an account above are told nothing of a realm, while its admins are', async () => {
    const rita = await world.user(world.reseller)
    const asked = `/v2/edge?realm=${world.acme.realm}`
    expect((await rita.get(asked)).data).not.toHaveProperty('account_id')
    expect((await world.ross.get(asked)).data).toMatchObject({ account_id: world.acme.id })
  })

  it('work within their own account, in the master account as elsewhere', async () => {
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account)
      expect(await person.get(account.path)).toSucceed()
      expect(await person.put(`${account.path}/devices`, { name: 'Mine' })).toSucceed(201)
      expect(await person.patch(person.path, { first_name: 'New' })).toSucceed()
    }
  })

  it('of the master account are bound by token restrictions', async () => {
    const olaf = await world.user(world.master)
    const restrictions = { _: { user: { users: [{ rules: { '#': ['GET'] } }] } } }
    await world.operator.post(`${world.master.path}/token_restrictions`, { restrictions })
    expect(await olaf.get(olaf.path)).toSucceed()
    expect(await olaf.get(`${world.master.path}/devices`)).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      cause: 'access denied by token restrictions',
    })
    expect(await world.operator.get(`${world.master.path}/devices`)).toSucceed()
    await world.operator.delete(`${world.master.path}/token_restrictions`)
  })

  const refusedFor = async (by: Person, of: Person, data: Record<string, unknown>) => {
    const answer = await world.unchanged(() => by.patch(of.path, data))
    const field = Object.keys(data)[0] ?? ''
    expect(answer).toFailWith(400, 'validation error', {
      [field]: { forbidden: { message: 'Only an admin may change this', cause: field } },
    })
  }

  it('do not say who may sign in, and do not take the way in of somebody else', async () => {
    const [one, other] = [
      await world.user(world.acme),
      await world.user(world.acme, { email: 'o@acme.test' }),
    ]
    for (const data of [
      { password: 'another-one' },
      { credentials: credentialsOf('x', 'y') },
      { email: 'mine@acme.test' },
      { enabled: false },
      { require_password_update: true },
      { scope_restrictions: ['*'] },
    ])
      await refusedFor(one, other, data)
    await refusedFor(one, one, { scope_restrictions: ['*'] })
    await refusedFor(one, one, { enabled: false })
    expect(await one.patch(other.path, { last_name: 'Changed', email: 'o@acme.test' })).toSucceed()
    expect(await world.ada.patch(other.path, { email: 'new@acme.test' })).toSucceed()
  })

  it('change their own password, name and address', async () => {
    const one = await world.user(world.acme)
    const username = `${one.username}-new`
    expect(
      await one.patch(one.path, { username, email: 'one@acme.test', password: 'one-secret' }),
    ).toSucceed()
    const login = { credentials: credentialsOf(username, 'one-secret'), account_realm: world.acme.realm }
    expect(await world.anonymous.put('/v2/user_auth', login)).toSucceed(201)
  })

  it('move no numbers of accounts below, in tasks and by name', async () => {
    const rita = await world.user(world.reseller)
    const number = '+14155557171'
    await world.operator.put(`${world.acme.path}/phone_numbers/${encodeURIComponent(number)}`, {})
    const identify = `phone_numbers/${encodeURIComponent(number)}/identify`
    expect(await rita.get(`${world.reseller.path}/${identify}`)).toFailWith(404, 'bad_identifier')
    expect(await world.ross.get(`${world.reseller.path}/${identify}`)).toSucceedWith({
      account_id: world.acme.id,
      number,
    })
  })
})
