// Accounts on trial: the seller sets the end, and then no user can sign in.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('a trial', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('crossbar.auth', { token_auth_expiry_s: 0 })
    await configure('crossbar', { recovery_ui_hosts: ['ui.example.test'] })
  })

  const now = () => gregorianNow(world.clock)
  const ended = (at: number) => ({ account: { expired: { message: 'account expired', cause: at } } })

  /** An account whose trial ends in a minute, and people of it. */
  const onTrial = async (parent: TestAccount = world.reseller) => {
    const account = await world.account(parent)
    const admin = await world.admin(account, {
      username: 'tess',
      password: 'tess-secret',
      email: `tess@${account.realm}`,
      send_email_on_creation: false,
    })
    const at = now() + 60
    expect(await world.operator.patch(account.path, { trial_expires: at })).toSucceed()
    return { account, admin, at }
  }

  const signIn = ({ name }: TestAccount) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf('tess', 'tess-secret'),
      account_name: name,
    })

  const trialIn = ({ data }: Answer) => {
    const { is_trial_account, trial_expires, trial_time_left } = data
    return { is_trial_account, trial_expires, trial_time_left }
  }
  const none = { is_trial_account: undefined, trial_expires: undefined, trial_time_left: undefined }

  it('is shown with the account, and with its remaining time', async () => {
    const { account, admin, at } = await onTrial()
    const whole = { is_trial_account: true, trial_expires: at, trial_time_left: 60 }
    const first = await admin.get(account.path)
    expect(trialIn(first)).toEqual(whole)
    world.clock.advance({ seconds: 20 })
    const headers = { 'if-none-match': String(first.headers.etag) }
    expect(trialIn(await admin.get(account.path, { headers }))).toEqual({ ...whole, trial_time_left: 40 })
    const changed = { 'if-match': String(first.headers.etag) }
    expect(await admin.patch(account.path, { org: 'Tess Ltd' }, { headers: changed })).toSucceed()
    expect(trialIn(await admin.get(account.path))).toMatchObject({ trial_expires: at })
    expect(trialIn(await world.ada.get(world.acme.path))).toEqual(none)
  })

  it('is set by admins of a reseller above and of the operator, and lifted by them', async () => {
    const account = await world.account(world.reseller)
    const at = now() + 1000
    for (const seller of [world.ross, world.operator]) {
      expect(trialIn(await seller.patch(account.path, { trial_expires: at }))).toMatchObject({
        trial_expires: at,
      })
      expect(trialIn(await seller.patch(account.path, { trial_expires: null }))).toEqual(none)
    }
    const made = await world.ross.put(world.reseller.path, { name: `Trial ${engine}`, trial_expires: at })
    expect(trialIn(made)).toMatchObject({ trial_expires: at })
    const path = `/v2/accounts/${made.data.id}`
    const { trial_expires, ...record } = (await world.ross.get(path)).data
    expect(trialIn(await world.ross.post(path, { ...record, org: 'Sent without it' }))).toMatchObject({
      trial_expires: at,
    })
    const wrong = await world.unchanged(() => world.ross.patch(path, { trial_expires: 'soon' }))
    expect(wrong).toBreak({ trial_expires: ['type'] })
    const { data: audit } = await world.ross.get(`${account.path}/audit?kind=account&action=edited`)
    expect(audit[0].changes).toContainEqual({ path: 'trial_expires', from: at })
  })

  it('can be set by its seller only: the server ignores the fields from other callers', async () => {
    const { account, admin, at } = await onTrial()
    const { data: record } = await admin.get(account.path)
    for (const trial_expires of [at + 1000, null, 1]) {
      expect(trialIn(await admin.patch(account.path, { trial_expires }))).toMatchObject({ trial_expires: at })
      const posted = await admin.post(account.path, { ...record, trial_expires, is_trial_account: false })
      expect(trialIn(posted)).toMatchObject({ trial_expires: at, is_trial_account: true })
    }
    // An account above that sells nothing has no trials to give.
    const plain = await world.account(world.reseller)
    const owner = await world.admin(plain)
    const below = await owner.put(plain.path, { name: `Below ${engine}`, trial_expires: 1 })
    expect(trialIn(below)).toEqual(none)
    const path = `/v2/accounts/${below.data.id}`
    expect(trialIn(await owner.patch(path, { trial_expires: 1 }))).toEqual(none)
    expect(await world.rex.patch(account.path, { trial_expires: 1 })).toFailWith(403, 'forbidden')
    expect(trialIn(await world.operator.patch(world.master.path, { trial_expires: 1 }))).toEqual(none)
  })

  it('ends sign-ins, sessions and keys at that moment, and nothing was written for it', async () => {
    const { account, admin, at } = await onTrial()
    const below = await world.account(account)
    const child = await world.admin(below)
    const holder = await world.keyHolder(account)
    const { data: named } = await admin.put(`${account.path}/api_keys`, { name: 'A key', scopes: ['*'] })
    const program = world.client({ authorization: `Bearer ${named.key}` })
    const basic = Buffer.from(`${account.id}:${credentialsOf('tess', 'tess-secret')}`).toString('base64')
    const browser = world.client({ authorization: `Basic ${basic}` })
    const { api_key } = (await admin.get(`${account.path}/api_key`)).data
    const callers: [Client, string][] = [
      [admin, account.path],
      [holder, account.path],
      [program, account.path],
      [browser, account.path],
      [child, below.path],
      [admin, below.path],
    ]
    for (const [caller, path] of callers) expect(await caller.get(path)).toSucceed()
    expect(await signIn(account)).toSucceed()
    world.clock.advance({ seconds: 59 })
    for (const [caller, path] of callers) expect(await caller.get(path)).toSucceed()
    world.clock.advance({ seconds: 1 })
    for (const [caller, path] of callers)
      expect(await world.unchanged(() => caller.get(path))).toFailWith(423, 'locked', ended(at))
    expect(await signIn(account)).toFailWith(423, 'locked', ended(at))
    expect(await world.anonymous.put('/v2/api_auth', { api_key })).toFailWith(423, 'locked', ended(at))
    const inspected = await world.anonymous.post('/v2/auth/tokeninfo', { token: admin.token })
    expect(inspected).toFailWith(423, 'locked', ended(at))
    // A caller without the password learns nothing about trials.
    const guess = { credentials: credentialsOf('tess', 'wrong'), account_name: account.name }
    expect(await world.anonymous.put('/v2/user_auth', guess)).toFailWith(401, 'invalid_credentials')
    const lines = world.logEntries.filter(
      ({ fields }) => fields?.reason === 'the trial of the account has ended',
    )
    expect(lines).not.toEqual([])
    // Those above still manage it, and can let all users in again.
    expect(trialIn(await world.ross.get(account.path))).toMatchObject({ trial_time_left: 0 })
    expect(await world.ross.patch(account.path, { trial_expires: null })).toSucceed()
    for (const [caller, path] of callers) expect(await caller.get(path)).toSucceed()
    expect(await signIn(account)).toSucceed()
  })

  it('leaves public pages, and 400 to what is disabled', async () => {
    const { account, admin } = await onTrial()
    world.clock.advance({ seconds: 60 })
    expect(await admin.get('/v2/schemas/users')).toSucceed()
    expect(await world.ross.patch(account.path, { enabled: false })).toSucceed()
    const disabled = { account: { disabled: { message: 'account disabled', cause: account.id } } }
    expect(await admin.get(account.path)).toFailWith(400, 'validation error', disabled)
    expect(await signIn(account)).toFailWith(400, 'validation error', disabled)
  })

  it('sends no way back in once it has ended, and honours none', async () => {
    const { account, at } = await onTrial()
    const ask = () =>
      world.anonymous.put('/v2/user_auth/recovery', {
        username: 'tess',
        account_name: account.name,
        ui_url: 'https://ui.example.test/',
      })
    const links = async () => {
      await world.deliverMail()
      const mails = await mailsTo(world.place.dataDir, `tess@${account.realm}`)
      return mails.flatMap((mail) => /recovery=([0-9a-f]+)/.exec(textOf(mail))?.[1] ?? [])
    }
    const sent = await ask()
    const [reset_id, ...others] = await links()
    expect(others).toEqual([])
    world.clock.advance({ seconds: 60 })
    expect((await ask()).data).toEqual(sent.data)
    expect(await links()).toEqual([reset_id])
    const redeemed = await world.anonymous.post('/v2/user_auth/recovery', { reset_id })
    expect(redeemed).toFailWith(423, 'locked', ended(at))
  })
})
