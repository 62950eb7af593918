import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Value } from '../../src/storage/db.ts'
import { buildWorld, credentialsOf, describeEngines, type World } from '../support/world/world.ts'

describeEngines('what is kept for a while', (engine) => {
  let world: World

  // Each test has its own world: years pass in them, and no token is valid for that time.
  beforeEach(async () => {
    world = await buildWorld(engine)
  })

  afterEach(async () => {
    expect(world.takeErrors()).toEqual([])
    await world.close()
  })

  const run = (job: string) => world.server.scheduler.runNow(job)
  const days = (count: number) => world.clock.advance({ hours: 24 * count })

  const count = async (sql: string, params: readonly Value[] = []) => {
    const [row] = await world.server.store.all<{ count: number }>(
      `SELECT CAST(count(*) AS BIGINT) AS count FROM ${sql}`,
      params,
    )
    return row?.count
  }

  const put = (table: string, row: Record<string, Value>) => {
    const names = Object.keys(row)
    return world.server.store.writeUnrecorded([
      {
        sql: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
        params: Object.values(row),
      },
    ])
  }

  it('is attempts to sign in, for as many days as the settings say', async () => {
    const account = await world.account()
    const user = await world.user(account, { username: 'knocker', password: 'knock-secret' })
    const attempts = () => count("records WHERE kind = 'login_attempt' AND account_id = $1", [account.id])
    const knock = () =>
      world.anonymous.put('/v2/user_auth', {
        credentials: credentialsOf(user.username, 'wrong'),
        account_name: account.name,
      })
    expect((await knock()).status).toBe(401)
    await expect.poll(attempts).toBe(1)
    days(91)
    await run('login attempts')
    expect(await attempts()).toBe(1)
    expect((await knock()).status).toBe(401)
    await expect.poll(attempts).toBe(2)
    days(2)
    await run('login attempts')
    expect(await attempts()).toBe(1)
    await world.configure('crossbar.auth', { login_attempt_days: 1 })
    await run('login attempts')
    expect(await attempts()).toBe(0)
  })

  it('is the end of a token, until it would have expired anyway', async () => {
    const account = await world.account()
    const { id } = await world.admin(account)
    const token = await world.tokenOf(account, id)
    const ended = () => count("records WHERE kind = 'revoked_token' AND account_id = $1", [account.id])
    expect(await world.clientWithToken(token).delete('/v2/token_auth')).toSucceed()
    await run('ended tokens')
    expect(await ended()).toBe(1)
    expect((await world.clientWithToken(token).get('/v2/token_auth')).status).toBe(401)
    world.clock.advance({ hours: 2 })
    await run('ended tokens')
    expect(await ended()).toBe(0)
    expect((await world.clientWithToken(token).get('/v2/token_auth')).status).toBe(401)
  })

  it('is tasks that ended or never began, with their files', async () => {
    const token = async () => world.tokenOf(world.master, world.operator.id)
    const make = async () => {
      const caller = world.clientWithToken(await token())
      const made = await caller.put('/v2/tasks', undefined, {
        query: { category: 'rates', action: 'import' },
        body: Buffer.from('prefix,rate_cost\n49,0.1\n'),
        headers: { 'content-type': 'text/csv' },
      })
      expect(made).toSucceed()
      return made.body.metadata.id as string
    }
    const left = async (id: string) => [
      await count("records WHERE kind = 'task' AND id = $1", [id]),
      await count('long_runs WHERE id = $1', [id]),
      await count('long_parts WHERE run_id = $1', [id]),
    ]
    const old = await make()
    days(91)
    const young = await make()
    days(2)
    await run('old tasks')
    await run('task leftovers')
    expect(await left(old)).toEqual([0, 0, 0])
    expect(await left(young)).toEqual([1, 1, 1])
  })

  it('is outcomes of work, answers under keys, attempts to deliver mail and uses of allotments', async () => {
    const at = world.clock.now()
    const account_id = world.acme.id
    const keys = Array.from({ length: 2500 }, (_, index) => `retained-${index}`)
    for (const idem_key of keys)
      await put('idempotency_keys', {
        account_id,
        asker: 'somebody',
        idem_key,
        token: 't',
        fingerprint: 'f',
        holder: '{}',
        begun_at: at,
      })
    await put('allotment_uses', {
      account_id,
      allotment: 'retained',
      minute: Math.floor(at / 1000) + 62_167_219_200,
      seconds: 1,
    })
    const left = async () => [
      await count("idempotency_keys WHERE idem_key LIKE 'retained-%'"),
      await count("allotment_uses WHERE allotment = 'retained'"),
    ]
    await run('idempotency')
    await run('allotment uses')
    expect(await left()).toEqual([2500, 1])
    days(2)
    await run('idempotency')
    expect(await left()).toEqual([0, 1])
    days(400)
    await run('allotment uses')
    expect(await left()).toEqual([0, 0])
  })

  it('is leases of dead processes, and data of deleted accounts in other tables', async () => {
    const gone = '0'.repeat(32)
    for (const account_id of [gone, world.acme.id])
      await put('payer_turns', { account_id, turn: 1 }).catch(() => undefined)
    await put('leases', { name: 'task/of-the-dead', token: 't', holder: '{}', expires_at: world.clock.now() })
    days(2)
    await run('leftovers')
    await run('old leases')
    expect(await count('payer_turns WHERE account_id = $1', [gone])).toBe(0)
    expect(await count('payer_turns WHERE account_id = $1', [world.acme.id])).toBe(1)
    expect(await count("leases WHERE name = 'task/of-the-dead'")).toBe(0)
  })

  it('is letters in the folder of a server without SMTP', async () => {
    const folder = join(world.place.dataDir, 'outbox')
    mkdirSync(folder, { recursive: true })
    const old = '2025-01-01T00-00-00.000Z-old.eml'
    for (const name of [old, 'notes.txt']) writeFileSync(join(folder, name), '')
    await world.configure('crossbar', { recovery_ui_hosts: ['ui.example.com'] })
    const account = await world.account()
    await world.user(account, { username: 'reader', email: 'reader@example.com', password: 'reader-secret' })
    const forgotten = {
      username: 'reader',
      account_name: account.name,
      ui_url: 'https://ui.example.com/',
      diary: 'x'.repeat(1000),
    }
    expect(await world.anonymous.put('/v2/user_auth/recovery', forgotten)).toSucceed()
    // The server does not keep keys that the schema does not name.
    const waiting = await world.server.store.all<{ payload: string }>(
      "SELECT payload FROM work WHERE kind = 'password_recovery' AND state = 'waiting'",
    )
    for (const { payload } of waiting) expect(payload).not.toContain('diary')
    await world.deliverMail()
    const names = readdirSync(folder)
    expect(names).not.toContain(old)
    expect(names).toContain('notes.txt')
    expect(names.filter((name) => name.endsWith('.eml')).length).toBeGreaterThan(0)
  })
})
