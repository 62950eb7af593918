// Endpoints: alerts.
import { expect, it } from 'vitest'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import { makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('Endpoints: alerts', (engine) => {
  const world = useWorld(engine)

  /** A customer, its admin, and an alert for its admins. */
  const alerted = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const sent = {
      title: 'Maintenance',
      message: 'On Sunday',
      category: 'notice',
      from: [{ type: 'account', value: world.master.id }],
      to: [{ type: account.id, value: 'admins' }],
    }
    const path = `${account.path}/alerts`
    const answer = await world.operator.put(path, sent)
    const alert = { id: answer.data.id as string, ...sent, level: 'info' }
    const metadata = { id: alert.id, created: nowOf(world), modified: nowOf(world) }
    return { account, admin, answer, alert, path, metadata }
  }

  it('alerts are for their own account and those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/alerts'],
      ['PUT', '/v2/accounts/{account_id}/alerts'],
      ['GET', '/v2/accounts/{account_id}/alerts/{alert_id}'],
      ['DELETE', '/v2/accounts/{account_id}/alerts/{alert_id}'],
    ]))

  it('GET …/alerts: array of list entries', async () => {
    const { account, admin, path, alert } = await alerted()
    const { id, title, message, category, level, from } = alert
    const value = { id, title, message, category, level, from, created: nowOf(world) }
    expect(said(await admin.get(path))).toEqual({
      status: 200,
      data: [{ ...value, key: [account.id, 'admins'], value, clearable: true }],
      metadata: {},
      page_size: 1,
    })
  })

  it('PUT …/alerts: the alert with id', async () => {
    const { answer, alert, metadata } = await alerted()
    expect(said(answer)).toEqual({ status: 201, data: alert, metadata })
  })

  it('PUT …/alerts: title, message, from, to required', async () => {
    const { acme, operator } = world
    const answer = await world.unchanged(() => operator.put(`${acme.path}/alerts`, {}))
    expect(answer).toBreak({
      title: ['required'],
      message: ['required'],
      from: ['required'],
      to: ['required'],
    })
  })

  it('GET …/alerts/{alert_id}: the alert', async () => {
    const { admin, path, alert, metadata } = await alerted()
    expect(said(await admin.get(`${path}/${alert.id}`))).toEqual({ status: 200, data: alert, metadata })
    expect(said(await admin.get(`${path}/nothing`))).toEqual(
      saidError(404, 'bad_identifier', { message: 'bad identifier', cause: 'nothing' }),
    )
  })

  it('DELETE …/alerts/{alert_id}: removes the alert', async () => {
    const { admin, path, alert, metadata } = await alerted()
    expect(said(await admin.delete(`${path}/${alert.id}`))).toEqual({
      status: 200,
      data: alert,
      metadata: { ...metadata, deleted: true },
    })
    expect(await admin.get(path)).toSucceedWith([])
  })

  it('DELETE …/alerts/{alert_id}: allowed only when clearable is true', async () => {
    const { ada, acme } = world
    // The server itself raises an alert for a number that is being ported in, until the port ends.
    await makeNumber(world, acme, '+14155550100', { create_with_state: 'port_in' })
    const [row] = (await ada.get(`${acme.path}/alerts`)).data
    expect(row).toMatchObject({ category: 'port_action_required', clearable: false })
    const answer = await world.unchanged(() => ada.delete(`${acme.path}/alerts/${row.id}`))
    expect(said(answer)).toEqual(
      saidError(403, 'forbidden', {
        message: 'this alert cannot be cleared: it ends with its cause',
        cause: row.id,
      }),
    )
  })
})
