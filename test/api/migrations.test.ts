// Start and progress of migrations. For the effects of each one, see migrations-effects.test.ts.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const now = { perform_migration: 'now' }
const description = 'Counts the items of the account again for its services'

describeAnyEngine('Migrations', (engine) => {
  const world = useWorld(engine)
  const at = (account: TestAccount, id = 'recount_services') => `${account.path}/migrations/${id}`
  const time = () => gregorianNow(world.clock)

  const nameOf = ({ account, id, username }: Person) => ({
    auth_account_id: account.id,
    auth_account_name: account.name,
    auth_user_id: id,
    auth_user_name: `${username.charAt(0).toUpperCase()}${username.slice(1)} Admin`,
  })

  const finished = (more: object) => ({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    status: 'finished',
    include_descendants: false,
    include_resellers: false,
    requested_time: time(),
    started_time: time(),
    ended_time: time(),
    total: 1,
    performed: 1,
    failed: 0,
    skipped: 0,
    changed: 0,
    failures: [],
    ...more,
  })

  /** A reseller below another, with a customer each. */
  const family = async () => {
    const top = await world.account()
    const customer = await world.account(top)
    const reseller = await world.account(top)
    await world.operator.put(`${reseller.path}/reseller`, {})
    const theirs = await world.account(reseller)
    return { top, customer, reseller, theirs, admin: await world.admin(top) }
  }

  it('are listed with what each does', async () => {
    expect(await world.ada.get(`${world.acme.path}/migrations`)).toSucceedWith({
      derive_sign_in_secrets:
        'Derives stored sign-in keys of users again with the strongest parameters; passwords do not change',
      normalise_numbers:
        'Writes phone numbers, their countries and classifiers as the rules of today have it',
      rebuild_cdr_months: 'Recalculates statistics and checks costs from the stored call detail records',
      recount_services: description,
      repair_used_by: 'Puts right what phone numbers are used by, and the features that follow from settings',
    })
  })

  it('report that they were not performed, then who performed them and when', async () => {
    const account = await world.account(world.acme)
    const id = 'recount_services'
    expect(await world.ada.get(at(account))).toSucceedWith({ id, description, performed: false })
    const answer = await world.ada.post(at(account), now)
    const by = nameOf(world.ada)
    expect(answer).toSucceedWith({ performed_on: [account.id], run: finished(by) })
    expect(await world.ada.get(at(account))).toSucceedWith({
      id,
      description,
      performed: true,
      performed_time: time(),
      changed: 0,
      ...by,
      run: answer.data.run,
    })
    expect(await world.ada.get(at(account, 'repair_used_by'))).toSucceedWith({
      id: 'repair_used_by',
      description: expect.any(String),
      performed: false,
    })
  })

  it('are refused without `now`, before their id is looked at', async () => {
    await world.unchanged(async () => {
      for (const data of [{}, { perform_migration: 'later' }, { perform_migration: true }])
        for (const id of ['recount_services', 'unheard_of'])
          expect(await world.ada.post(at(world.acme, id), data)).toFailWith(400, 'validation error', {
            migration: {
              failed: {
                message: 'Field perform_migration must be now',
                error: 'invalid action time',
                target: 'now',
              },
            },
          })
    })
  })

  it('with an unknown name cannot be performed or read', async () => {
    await world.unchanged(async () => {
      expect(await world.ada.post(at(world.acme, 'unheard_of'), now)).toFailWith(400, 'validation error', {
        migration: { invalid: { message: 'There is no such migration', migration: 'not found' } },
      })
      expect(await world.ada.get(at(world.acme, 'unheard_of'))).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: 'unheard_of',
      })
    })
  })

  it('go through the accounts below, past a reseller to its customers', async () => {
    const { top, customer, reseller, theirs, admin } = await family()
    const answer = await admin.post(at(top), { ...now, include_descendants: true })
    expect(answer.data.performed_on).toEqual([top.id, customer.id, theirs.id].sort())
    expect(answer.data.run).toMatchObject({ total: 4, performed: 3, skipped: 1, include_descendants: true })
    const performed = async (account: TestAccount) => (await admin.get(at(account))).data.performed
    expect(await Promise.all([top, customer, reseller, theirs].map(performed))).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  it('go through resellers below when asked to, and through a reseller that is asked for itself', async () => {
    const { top, customer, reseller, theirs, admin } = await family()
    const whole = { ...now, include_descendants: true, include_resellers: true }
    const answer = await admin.post(at(top), whole)
    expect(answer.data.performed_on).toEqual([top.id, customer.id, reseller.id, theirs.id].sort())
    expect((await admin.post(at(reseller), now)).data.performed_on).toEqual([reseller.id])
  })

  it('stay with the one account unless asked otherwise, whatever `include_resellers` says', async () => {
    const { top, admin } = await family()
    const answer = await admin.post(at(top), { ...now, include_resellers: true })
    expect(answer.data.performed_on).toEqual([top.id])
    expect(answer.data.run.total).toBe(1)
  })

  it('accept their parameters in the query too', async () => {
    const { top, admin } = await family()
    const answer = await admin.post(`${at(top)}?perform_migration=now&include_descendants=true`, {})
    expect(answer).toSucceed()
    expect(answer.data.performed_on).toHaveLength(3)
  })

  it('accept true and false as booleans or as strings, in the body, the envelope or the query', async () => {
    const { top, admin } = await family()
    const reached = async (data: object, envelope: object, query = '') => {
      const answer = await admin.post(
        `${at(top)}?${query}`,
        { ...now, ...data },
        { envelope: { ...envelope } },
      )
      return answer.data.run.performed
    }
    expect(await reached({ include_descendants: 'true' }, {})).toBe(3)
    expect(await reached({}, { include_descendants: 'true', include_resellers: true })).toBe(4)
    expect(await reached({}, {}, 'include_descendants=true&include_resellers=false')).toBe(3)
    expect(await reached({ include_descendants: 'false' }, { include_descendants: true })).toBe(1)
  })

  it('are refused any other word for true or false, and nothing is performed', async () => {
    const { top, admin } = await family()
    await world.unchanged(async () => {
      for (const name of ['include_descendants', 'include_resellers']) {
        for (const word of ['yes', 'TRUE', '1', '']) {
          const answers = [
            await admin.post(at(top), { ...now, [name]: word }),
            await admin.post(at(top), now, { envelope: { [name]: word } }),
            await admin.post(`${at(top)}?${name}=${word}`, now),
          ]
          for (const answer of answers) expect(answer).toBreak({ [name]: ['type'] })
        }
        for (const value of [1, ['true'], {}]) {
          expect(await admin.post(at(top), { ...now, [name]: value })).toBreak({ [name]: ['type'] })
          expect(await admin.post(at(top), now, { envelope: { [name]: value } })).toBreak({
            [name]: ['type'],
          })
        }
      }
    })
  })

  it('can be performed again: the last time counts', async () => {
    const account = await world.account(world.acme)
    await world.ross.post(at(account), now)
    world.clock.advance({ minutes: 1 })
    await world.ada.post(at(account), now)
    const { data } = await world.ada.get(at(account))
    expect(data).toMatchObject({ performed_time: time(), auth_user_id: world.ada.id })
    expect(data.run.auth_user_id).toBe(world.ada.id)
  })

  it('name the user that acts as another one, and an API key by its account', async () => {
    const account = await world.account(world.acme)
    const acting = await world.operator.put(
      `${world.acme.path}/users/${world.ada.id}/user_auth`,
      {},
      {
        envelope: { action: 'impersonate_user' },
      },
    )
    const actor = world.clientWithToken(String(acting.body.auth_token))
    expect(await actor.post(at(account), now)).toSucceed()
    expect((await world.ada.get(at(account))).data).toMatchObject({
      ...nameOf(world.ada),
      original_auth_account_id: world.master.id,
      original_auth_owner_id: world.operator.id,
    })
    await world.acmeKey.post(at(account), now)
    const { data } = await world.ada.get(at(account))
    expect(data.auth_account_id).toBe(world.acme.id)
    expect(data).not.toHaveProperty('auth_user_id')
    expect(data).not.toHaveProperty('original_auth_account_id')
  })

  it('are the affair of admins of the account and of those above', async () => {
    await world.unchanged(async () => {
      for (const person of [world.uli, world.rex]) {
        expect(await person.get(`${world.acme.path}/migrations`)).toFailWith(403, 'forbidden')
        expect(await person.get(at(world.acme))).toFailWith(403, 'forbidden')
        expect(await person.post(at(world.acme), now)).toFailWith(403, 'forbidden')
      }
    })
    expect(await world.ross.post(at(world.acme), now)).toSucceed()
  })

  it('leave an audit entry in each account that they process, with the user that started them', async () => {
    const account = await world.account(world.acme)
    await world.ada.post(at(account), now)
    const entries = await world.server.store.all<{ author: string; after_doc: string }>(
      "SELECT author, after_doc FROM audit_log WHERE account_id = $1 AND kind = 'migration'",
      [account.id],
    )
    expect(entries).toHaveLength(1)
    expect(JSON.parse(entries[0]?.author ?? '')).toMatchObject({ authUserId: world.ada.id })
    expect(JSON.parse(entries[0]?.after_doc ?? '')).toMatchObject({ changed: 0, ...nameOf(world.ada) })
  })

  it('go with their account', async () => {
    const account = await world.account(world.acme)
    await world.ada.post(at(account), now)
    expect(await world.ada.delete(account.path)).toSucceed()
    await world.server.scheduler.runNow('migration leftovers')
    for (const table of ['long_runs', 'long_parts', 'migrations_performed'])
      expect(
        await world.server.store.all(`SELECT * FROM ${table} WHERE account_id = $1`, [account.id]),
      ).toEqual([])
  })

  it('report an account that fails, without a mark, and continue with the others', async () => {
    const { top, customer, theirs, admin } = await family()
    const { store } = world.server
    // A user whose stored key is none.
    const holder = { accountId: customer.id, kind: 'user', id: '0'.repeat(32) }
    const user = await world.user(customer)
    await store.commit(
      new ChangeSet({ requestId: 'test' })
        .claim({ scope: customer.id, name: 'sign_in', value: 'md5:broken' }, { ...holder, id: user.id })
        .run(
          `UPDATE records SET hidden = '{"signatureSecret":"","signInKeys":["broken"]}'
            WHERE account_id = $1 AND kind = 'user' AND id = $2`,
          [customer.id, user.id],
        )
        .record({ ...holder, id: user.id, action: 'edited' }),
    )
    const id = 'derive_sign_in_secrets'
    const answer = await admin.post(at(top, id), { ...now, include_descendants: true })
    expect(answer.data.performed_on).toEqual([top.id, theirs.id].sort())
    expect(answer.data.run).toMatchObject({
      status: 'finished',
      performed: 2,
      failed: 1,
      skipped: 1,
      failures: [{ account_id: customer.id, message: 'unspecified fault' }],
    })
    expect((await admin.get(at(customer, id))).data.performed).toBe(false)
    expect(world.takeErrors()).toMatchObject([{ message: 'a migration failed for an account' }])
  })
})

describeAnyEngine('A migration that takes long', (engine) => {
  const world = useWorld(engine)
  const pathOf = (account: TestAccount) => `${account.path}/migrations/recount_services`

  /** Takes the lease of the scheduled job, so that no process runs it. */
  const occupied = async <T>(work: () => Promise<T>) => {
    const claim = {
      sql: 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      params: [
        'scheduled-job/migrations',
        'test',
        JSON.stringify({ host: 'elsewhere', pid: 1, process: 'test' }),
        world.clock.now() + 60_000,
      ],
    }
    // This process may be at it just now.
    await eventually(
      async () => {
        await world.server.store.writeUnrecorded([claim])
        return world.server.store.all("SELECT token FROM leases WHERE token = 'test'")
      },
      (held) => held.length === 1,
    )
    try {
      return await work()
    } finally {
      await world.server.store.writeUnrecorded([
        { sql: "DELETE FROM leases WHERE token = 'test'", params: [] },
      ])
    }
  }

  it('is answered with 202 and shows its progress; the same again is the same run', async () => {
    const account = await world.account(world.acme)
    const path = pathOf(account)
    await occupied(async () => {
      const first = await world.ada.post(path, now)
      expect(first).toSucceed(202)
      expect(first.data.run).toMatchObject({ status: 'waiting', total: 1, performed: 0 })
      expect(first.data).not.toHaveProperty('performed_on')
      const again = await world.ross.post(path, now)
      expect(again).toSucceedWith(first.data, 202)
      const wider = await world.unchanged(() => world.ada.post(path, { ...now, include_descendants: true }))
      expect(wider).toFailWith(409, 'datastore_conflict')
      expect((await world.ada.get(path)).data).toMatchObject({ performed: false, run: first.data.run })
    })
    await world.server.scheduler.runNow('migrations')
    const { data } = await eventually(
      () => world.ada.get(path),
      (answer) => answer.data.run.status === 'finished',
    )
    expect(data).toMatchObject({ performed: true, run: { status: 'finished', performed: 1 } })
  })

  it('waits together with others, and each of them runs once', async () => {
    const ids = await occupied(async () => {
      const answers = await Promise.all([
        world.ada.post(pathOf(world.acme), now),
        world.rex.post(pathOf(world.rival), now),
        world.ada.post(`${world.acme.path}/migrations/repair_used_by`, now),
      ])
      return answers.map(({ data }) => data.run.id)
    })
    await world.server.scheduler.runNow('migrations')
    const runs = await eventually(
      () =>
        world.server.store.all<{ id: string; state: string; succeeded: number }>(
          "SELECT id, state, succeeded FROM long_runs WHERE kind = 'migration' ORDER BY id",
        ),
      (found) => found.every(({ state }) => state === 'ended'),
    )
    for (const id of ids) expect(runs.find((run) => run.id === id)?.succeeded).toBe(1)
  })
})
