// What a token may be used for.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const denied = { message: 'forbidden', cause: 'access denied by token restrictions' }
describeAnyEngine('token restrictions', (engine) => {
  const world = useWorld(engine)
  const pathOf = (account: TestAccount) => `${account.path}/token_restrictions`

  const place = async (parent?: TestAccount) => {
    const account = await world.account(parent)
    const [admin, user] = [await world.admin(account), await world.user(account)]
    const restrict = (restrictions: object) => admin.post(pathOf(account), { restrictions })
    return { account, admin, user, restrict }
  }

  it('do not exist until an admin sets them', async () => {
    const { account, admin, user } = await place()
    expect(await admin.get(pathOf(account))).toFailWith(404, 'bad_identifier')
    expect(await admin.delete(pathOf(account))).toFailWith(404, 'bad_identifier')
    expect(await user.get(account.path)).toSucceed()
  })

  it('hold from the next request on, and are lifted as fast', async () => {
    const { account, admin, user, restrict } = await place()
    const restrictions = {
      cb_user_auth: { user: { accounts: [{ rules: { '*': ['GET', 'POST', 'PATCH'] } }] } },
    }
    const posted = await restrict(restrictions)
    expect(posted).toSucceedWith({ id: account.id, restrictions })
    expect(await admin.get(pathOf(account))).toSucceedWith({ id: account.id, restrictions })
    expect(await user.get(account.path)).toSucceed()
    const refused = await world.unchanged(() => user.put(account.path, { name: 'Sub' }))
    expect(refused).toFailWith(403, 'forbidden', denied)
    expect(await user.get(`${account.path}/users`)).toFailWith(403, 'forbidden', denied)
    expect(await admin.get(`${account.path}/users`)).toSucceed()
    const lifted = await admin.delete(pathOf(account))
    expect(lifted.body.metadata).toMatchObject({ deleted: true })
    expect(await user.get(`${account.path}/users`)).toSucceed()
  })

  it('replace what was posted before', async () => {
    const { account, user, restrict } = await place()
    await restrict({ _: { user: { _: [{ rules: {} }] } } })
    expect(await user.get(account.path)).toFailWith(403, 'forbidden', denied)
    await restrict({ _: { user: { _: [{ rules: { '#': ['_'] } }] } } })
    expect(await user.get(account.path)).toSucceed()
  })

  it('tell the own account from those below', async () => {
    const { account, admin, restrict } = await place()
    const below = await world.account(account)
    await restrict({
      _: { admin: { users: [{ allowed_accounts: ['{DESCENDANT_ACCOUNT_ID}'], rules: { '/': ['GET'] } }] } },
    })
    expect(await admin.get(`${below.path}/users`)).toSucceed()
    expect(await admin.get(`${account.path}/users`)).toFailWith(403, 'forbidden', denied)
  })

  it('count an API key as admin', async () => {
    const { account, restrict } = await place()
    const key = await world.keyHolder(account)
    await restrict({ cb_api_auth: { admin: { users: [{ rules: { '/': ['GET'] } }] } } })
    expect(await key.get(`${account.path}/users`)).toSucceed()
    expect(await key.get(account.path)).toFailWith(403, 'forbidden', denied)
  })

  it('of the system apply to an account without restrictions, and never to an operator', async () => {
    const { account, user, restrict } = await place()
    await world.configure('crossbar.token_restrictions', {
      cb_user_auth: { user: { users: [{ rules: { '/': ['GET'] } }] } },
    })
    const clerk = await world.admin(world.master)
    expect(await user.get(`${account.path}/users`)).toSucceed()
    expect(await user.get(account.path)).toFailWith(403, 'forbidden', denied)
    expect(await clerk.get(account.path)).toSucceed()
    await restrict({ cb_user_auth: { user: { accounts: [{ rules: { '*': ['GET'] } }] } } })
    expect(await user.get(account.path)).toSucceed()
    await world.configure('crossbar.token_restrictions', { cb_user_auth: {} })
  })

  it('are not for ordinary users or strangers to change', async () => {
    await world.unchanged(async () => {
      for (const answer of [
        await world.uli.post(pathOf(world.acme), { restrictions: {} }),
        await world.uli.delete(pathOf(world.acme)),
        await world.rex.get(pathOf(world.acme)),
        await world.rex.post(pathOf(world.acme), { restrictions: {} }),
        await world.ada.post(pathOf(world.reseller), { restrictions: {} }),
      ]) {
        expect(answer).toFailWith(403, 'forbidden', notForCaller)
      }
    })
  })

  it('must have their shape', async () => {
    const { restrict, admin, account } = await place()
    await world.unchanged(async () => {
      expect(await admin.post(pathOf(account), {})).toBreak({ restrictions: ['required'] })
      expect(await restrict({ _: { _: { _: [{}] } } })).toBreak({
        'restrictions._._._.0.rules': ['required'],
      })
      expect(await restrict({ _: { _: { _: [{ rules: { '/': ['FETCH'] } }] } } })).toBreak({
        'restrictions._._._.0.rules./.0': ['enum'],
      })
    })
  })
})
