// Endpoints: migrations.
import { expect, it } from 'vitest'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const id = 'recount_services'
const now = { perform_migration: 'now' }

describeAnyEngine('Endpoints: migrations', (engine) => {
  const world = useWorld(engine)

  /** An account with an admin, a reseller and a plain customer below it, and where its migration is. */
  const family = async () => {
    const account = await world.account()
    const admin = await world.admin(account, { first_name: 'Mia', last_name: 'Grant' })
    const [reseller, customer] = [await world.account(account), await world.account(account)]
    await world.operator.put(`${reseller.path}/reseller`, {})
    return { account, admin, reseller, customer, path: `${account.path}/migrations/${id}` }
  }

  it('migrations are for admins of the account and of those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/migrations'],
      ['GET', '/v2/accounts/{account_id}/migrations/{migration_id}'],
      ['POST', '/v2/accounts/{account_id}/migrations/{migration_id}'],
    ]))

  it('GET …/migrations: what each available one does, by id', async () => {
    const text = expect.any(String)
    expect(said(await world.ada.get(`${world.acme.path}/migrations`))).toEqual({
      status: 200,
      data: {
        derive_sign_in_secrets: text,
        normalise_numbers: text,
        rebuild_cdr_months: text,
        recount_services: text,
        repair_used_by: text,
      },
      metadata: {},
    })
  })

  it('GET …/migrations/{migration_id}: whether it was performed, its performer, and when', async () => {
    const { account, admin, path } = await family()
    const description = expect.any(String)
    expect(said(await admin.get(path))).toEqual({
      status: 200,
      data: { id, description, performed: false },
      metadata: {},
    })
    const { run } = (await admin.post(path, now)).data
    expect(said(await admin.get(path))).toEqual({
      status: 200,
      data: {
        id,
        description,
        performed: true,
        performed_time: nowOf(world),
        auth_account_id: account.id,
        auth_account_name: account.name,
        auth_user_id: admin.id,
        auth_user_name: 'Mia Grant',
        changed: 0,
        run,
      },
      metadata: {},
    })
    expect(said(await admin.get(path.replace(id, 'unheard_of')))).toEqual(
      saidError(404, 'bad_identifier', { message: 'bad identifier', cause: 'unheard_of' }),
    )
  })

  it('POST …/migrations/{migration_id}: performs the migration', async () => {
    const { account, admin, path } = await family()
    expect(said(await admin.post(path, now))).toEqual({
      status: 200,
      data: {
        performed_on: [account.id],
        run: {
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          status: 'finished',
          include_descendants: false,
          include_resellers: false,
          requested_time: nowOf(world),
          started_time: nowOf(world),
          ended_time: nowOf(world),
          total: 1,
          performed: 1,
          failed: 0,
          skipped: 0,
          changed: 0,
          failures: [],
          auth_account_id: account.id,
          auth_account_name: account.name,
          auth_user_id: admin.id,
          auth_user_name: 'Mia Grant',
        },
      },
      metadata: {},
    })
  })

  it('POST …/migrations/{migration_id}: include_descendants and include_resellers say where else', async () => {
    const { account, admin, reseller, customer, path } = await family()
    const performedOn = async (more: object) =>
      (await admin.post(path, { ...now, ...more })).data.performed_on
    const below = { include_descendants: true }
    expect(await performedOn(below)).toEqual([account.id, customer.id].sort())
    expect(await performedOn({ ...below, include_resellers: true })).toEqual(
      [account.id, customer.id, reseller.id].sort(),
    )
  })

  it('POST …/migrations/{migration_id} without perform_migration `now`: nothing is performed', async () => {
    const { admin, path } = await family()
    const answer = await world.unchanged(() => admin.post(path, {}))
    expect(said(answer)).toEqual(
      saidError(400, 'validation error', {
        migration: {
          failed: {
            message: 'Field perform_migration must be now',
            error: 'invalid action time',
            target: 'now',
          },
        },
      }),
    )
  })
})
