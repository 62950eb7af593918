// The server disables a webhook that has failed for a whole day, until an admin enables it again.
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { answerWith } from '../support/servers/hook-receiver.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import { type MadeHook, useHooks } from '../support/world/webhooks.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

const day = 86_400

describeAnyEngine('a webhook that fails', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, attempts, later } = hooks

  const customer = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account, { email: `admin@${account.realm}` })
    return { account, admin }
  }

  const read = async ({ path }: MadeHook) => (await world.operator.get(path)).body

  const isOff = (made: MadeHook) =>
    eventually(
      () => read(made),
      ({ data }) => data.enabled === false,
    )

  /** Fails for a day and a bit. */
  const failForADay = async (account: TestAccount, fields = {}) => {
    const made = await hook(account, fields)
    hooks.receiver.answers(answerWith(500))
    await world.user(account)
    await attempts(made, 1)
    later(day + 60)
    await isOff(made)
    hooks.receiver.answers(answerWith(200))
    return made
  }

  it('is tried for a day, however often it fails', async () => {
    const { account } = await customer()
    const made = await hook(account)
    hooks.receiver.answers(answerWith(404))
    for (let count = 1; count <= 8; count += 1) {
      await world.user(account)
      await attempts(made, count)
    }
    later(day - 60)
    await world.user(account)
    await attempts(made, 9)
    expect((await read(made)).data.enabled).toBe(true)
  })

  it('starts a new day with each success', async () => {
    const { account } = await customer()
    const made = await hook(account)
    hooks.receiver.answers(answerWith(404))
    await world.user(account)
    await attempts(made, 1)
    later(day / 2)
    hooks.receiver.answers(answerWith(200))
    await world.user(account)
    await attempts(made, 2)
    hooks.receiver.answers(answerWith(404))
    later(day / 2 + 60)
    await world.user(account)
    await attempts(made, 3)
    expect((await read(made)).data.enabled).toBe(true)
  })

  it('is switched off after a day without a success: its record, an alert, a mail and an event say so', async () => {
    const { account, admin } = await customer()
    const other = await hook(account, { hook: 'webhook.disabled' })
    const made = await failForADay(account, {
      name: 'Deaf',
      security_settings: { sha256_key: 'the-signing-key' },
      custom_request_headers: { Authorization: 'the-bearer-token' },
    })
    const { metadata } = await read(made)
    expect(metadata.disable_reason).toBe('too many failed attempts')
    const rows = (await world.operator.get(hooks.hooksOf(account))).data as { id: string }[]
    expect(rows.find(({ id }) => id === made.id)).toMatchObject({
      enabled: false,
      disable_reason: 'too many failed attempts',
    })
    const alerts = (await admin.get(`${account.path}/alerts`)).data as { category: string }[]
    expect(alerts.filter(({ category }) => category === 'webhook_disabled')).toHaveLength(1)
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, `admin@${account.realm}`)
    expect(mails.filter((mail) => /Deaf/.test(mail))).toHaveLength(1)
    const [call] = await hooks.receiver.told(other.at, 1)
    expect(call?.json).toMatchObject({ hook_event: 'webhook.disabled', id: made.id })
    const told = await world.operator.get(`${account.path}/events?type=webhook.*&with_before=true`)
    expect(told.data).toContainEqual(expect.objectContaining({ type: 'webhook.disabled' }))
    expect(told.text).not.toMatch(/the-signing-key|the-bearer-token/)
    const { data: raised } = await world.operator.get(`${account.path}/events?type=alert.raised`)
    expect(raised).toMatchObject([{ type: 'alert.raised', after: { category: 'webhook_disabled' } }])
  })

  it('receives events again when an admin enables it, and its alert is removed', async () => {
    const { account, admin } = await customer()
    const made = await failForADay(account)
    const before = (await attempts(made, 2)).length
    expect((await admin.patch(made.path, { enabled: true })).body.metadata).not.toHaveProperty(
      'disable_reason',
    )
    expect((await admin.get(`${account.path}/alerts`)).data).not.toEqual(
      expect.arrayContaining([expect.objectContaining({ category: 'webhook_disabled' })]),
    )
    await world.user(account)
    const after = await attempts(made, before + 2)
    // Waiting events are delivered as well.
    expect(after.slice(-2).map(({ result }) => result)).toEqual(['success', 'success'])
  })

  it('is enabled with all others of its account that were switched off, and with no other', async () => {
    const { account } = await customer()
    const made = await failForADay(account)
    const own = await hook(account, { enabled: false })
    const elsewhere = await customer()
    const theirs = await failForADay(elsewhere.account)
    await world.operator.patch(hooks.hooksOf(account), { 're-enable': true })
    expect((await read(made)).data.enabled).toBe(true)
    expect((await read(own)).data.enabled).toBe(false)
    expect((await read(theirs)).data.enabled).toBe(false)
  })

  it('is enabled from above for a whole subtree', async () => {
    const [first, second] = [await customer(), await customer()]
    const made = [await failForADay(first.account), await failForADay(second.account)]
    const above = await failForADay(world.reseller, { include_subaccounts: true })
    await world.ross.patch(`${world.reseller.path}/descendants/webhooks`, { 're-enable': true })
    for (const one of [...made, above]) expect((await read(one)).data.enabled).toBe(true)
  })
})
