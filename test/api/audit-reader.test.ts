import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAudit } from '../../src/areas/events/audit/operations.ts'
import { type Author, ChangeSet } from '../../src/storage/change-set.ts'
import { countOf, isFullRun } from '../support/run/run-length.ts'
import { engines } from '../support/servers/postgres.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

interface Entry {
  id: string
  at: number
  actor: { type: string; id?: string; account_id?: string; as?: object }
  action: string
  record: { kind: string; id: string; name: string }
  changes: { path: string; from?: unknown; to?: unknown }[]
  request_id: string
  digest: string
  previous_digest: string | null
}

describeEngines('the audit', (engine) => {
  const world = useWorld(engine)

  const auditOf = async ({ path }: Pick<TestAccount, 'path'>, query: Record<string, string> = {}) => {
    const answer = await world.operator.get(`${path}/audit`, { query })
    expect(answer).toSucceed()
    return answer.data as Entry[]
  }

  it('shows for each change the author, the address, the time, and the old and new values', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const device = await world.device(account, { name: 'Hall', sip: { password: 'hall-secret' } })
    const asked = { 'x-request-id': 'renaming' }
    const changed = { name: 'Lobby', sip: { password: 'lobby-secret' } }
    expect(await admin.request('PATCH', device.path, changed, { headers: asked })).toSucceed()
    const answer = await admin.get(`${account.path}/audit`, { query: { kind: 'device' } })
    expect(answer).toSucceed()
    const [edited, created] = answer.data
    expect(edited).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      account_id: account.id,
      at: expect.any(Number),
      actor: { type: 'user', id: admin.id, account_id: account.id, client_address: '127.0.0.1' },
      request_id: 'renaming',
      action: 'edited',
      record: { kind: 'device', id: device.id, name: 'Lobby' },
      changes: expect.arrayContaining([
        { path: 'name', from: 'Hall', to: 'Lobby' },
        { path: 'sip.password', from: '***', to: '***' },
      ]),
      sequence: expect.stringMatching(/^\d{16}$/),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      previous_digest: created.digest,
    })
    expect(created).toMatchObject({ action: 'created', record: { name: 'Hall' } })
    expect(created.changes).toContainEqual({ path: 'name', to: 'Hall' })
    expect(answer.text).not.toContain('secret')
    expect((await admin.get(`${account.path}/audit/${edited.id}`)).data).toEqual(edited)
    expect(await admin.get(`${account.path}/audit/${'0'.repeat(32)}`)).toFailWith(404, 'bad_identifier')
  })

  it('is newest first, a chain that begins with nothing before it', async () => {
    const account = await world.account(world.reseller)
    for (let turn = 0; turn < 5; turn += 1) await world.device(account)
    const entries = await auditOf(account)
    expect(entries.map(({ previous_digest: previous }) => previous)).toEqual([
      ...entries.slice(1).map(({ digest }) => digest),
      null,
    ])
    const first: Entry[] = []
    let key: string | undefined
    do {
      const query = { page_size: '2', ...(key ? { start_key: key } : {}) }
      const page = await world.operator.get(`${account.path}/audit`, { query })
      first.push(...page.data)
      key = page.body.next_start_key
    } while (key)
    expect(first).toEqual(entries)
    const oldest = await auditOf(account, { descending: 'false' })
    expect(oldest).toEqual(entries.toReversed())
  })

  it('names an API key by its id, and the one key of an account by that of the account', async () => {
    const account = await world.account(world.reseller)
    const named = await world.operator.put(`${account.path}/api_keys`, { name: 'Sync', scopes: ['*'] })
    const key = world.client({ authorization: `Bearer ${named.data.key}` })
    expect(await key.put(`${account.path}/devices`, { name: 'By a named key' })).toSucceed()
    const own = await world.keyHolder(account)
    expect(await own.put(`${account.path}/devices`, { name: 'By the key' })).toSucceed()
    const [second, first] = await auditOf(account, { kind: 'device' })
    expect(first?.actor).toMatchObject({ type: 'api_key', id: named.data.id, account_id: account.id })
    expect(second?.actor).toMatchObject({ type: 'api_key', id: account.id, account_id: account.id })
    expect(await auditOf(account, { actor_id: named.data.id })).toEqual([first])
  })

  it('names the person who acts as another one, and that one', async () => {
    const account = await world.account(world.reseller)
    const user = await world.admin(account)
    const acting = await world.operator.put(
      `${user.path}/user_auth`,
      {},
      { envelope: { action: 'impersonate_user' } },
    )
    expect(acting).toSucceed()
    const impersonator = world.clientWithToken(String(acting.body.auth_token))
    expect(await impersonator.put(`${account.path}/devices`, { name: 'For her' })).toSucceed()
    const [entry] = await auditOf(account, { kind: 'device' })
    expect(entry?.actor).toMatchObject({
      type: 'impersonator',
      id: world.operator.id,
      account_id: world.master.id,
      as: { id: user.id, account_id: account.id },
    })
    expect(await auditOf(account, { actor_id: world.operator.id, kind: 'device' })).toEqual([entry])
  })

  it('names tasks and the system', async () => {
    const account = await world.account(world.reseller)
    const authors: Author[] = [
      { requestId: 'a task', taskId: 'the-task', authAccountId: account.id, authUserId: 'somebody' },
      { requestId: 'dunning' },
    ]
    for (const author of authors) {
      const set = new ChangeSet(author)
      set.record({ accountId: account.id, kind: 'sample', id: author.requestId, action: 'edited' })
      await world.server.store.commit(set)
    }
    const [bySystem, byTask] = await auditOf(account, { kind: 'sample' })
    expect(bySystem?.actor).toEqual({ type: 'system' })
    expect(byTask?.actor).toEqual({ type: 'task', id: 'the-task', account_id: account.id })
    expect(await auditOf(account, { actor_id: 'the-task' })).toEqual([byTask])
  })

  it('calls a record by its name, a user by the user name, and what has neither by its id', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account, { username: 'una' })
    expect(await world.operator.delete(user.path)).toSucceed()
    const ofUser = await auditOf(account, { kind: 'user' })
    expect(ofUser.map(({ action, record }) => [action, record.name])).toEqual([
      ['deleted', 'una'],
      ['created', 'una'],
    ])
    const set = new ChangeSet({ requestId: 'nameless' })
    set.record({ accountId: account.id, kind: 'sample', id: 'a-sample', action: 'edited' })
    await world.server.store.commit(set)
    expect((await auditOf(account, { kind: 'sample' }))[0]?.record.name).toBe('a-sample')
  })

  it('shows changes of records without an account in the audit of the master account', async () => {
    const made = await world.operator.put('/v2/rates', { prefix: 44, rate_cost: 0.1 })
    expect(
      await world.operator.patch('/v2/system_configs/events', { default: { events_retention_days: 30 } }),
    ).toSucceed()
    const [rate] = await auditOf(world.master, { kind: 'rate' })
    expect(rate).toMatchObject({ record: { id: made.data.id }, actor: { id: world.operator.id } })
    const [config] = await auditOf(world.master, { record_id: 'events' })
    expect(config).toMatchObject({ record: { kind: 'system_config' } })
    for (const path of [`/v2/rates/${made.data.id}`, '/v2/system_configs/events'])
      expect((await auditOf({ path }))[0]).toMatchObject({
        action: expect.stringMatching(/^(created|edited)$/),
      })
  })

  it('is readable only by admins of the account and of the accounts above it', async () => {
    const account = await world.account(world.reseller)
    const [admin, user] = [await world.admin(account), await world.user(account)]
    const place = `${account.path}/audit`
    for (const client of [admin, world.ross, world.operator, await world.keyHolder(account)])
      expect(await client.get(place)).toSucceed()
    for (const client of [user, world.rex, world.ada]) {
      expect(await client.get(place)).toFailWith(403, 'forbidden')
      const [entry] = await auditOf(account)
      expect(await client.get(`${place}/${entry?.id}`)).toFailWith(403, 'forbidden')
    }
    expect(await admin.get(`${world.reseller.path}/audit`)).toFailWith(403, 'forbidden')
    // An entry of another account is not found under one's own.
    const [above] = await auditOf(world.reseller)
    expect(await admin.get(`${place}/${above?.id}`)).toFailWith(404, 'bad_identifier')
  })

  it('stays readable above an account that is gone', async () => {
    const account = await world.account(world.reseller, { name: 'Short' })
    const admin = await world.admin(account)
    const device = await world.device(account, { name: 'Left' })
    expect(await world.operator.delete(account.path)).toSucceed()
    for (const client of [world.ross, world.operator]) {
      const answer = await client.get(`${account.path}/audit`)
      expect(answer).toSucceed()
      expect(answer.data).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            action: 'deleted',
            record: { kind: 'account', id: account.id, name: 'Short' },
          }),
        ]),
      )
      expect(await client.get(`${account.path}/audit/${answer.data[0].id}`)).toSucceed()
      const ofDevice = await client.get(`${account.path}/devices/${device.id}/audit`)
      expect(ofDevice.data.at(-1)).toMatchObject({ action: 'created', record: { name: 'Left' } })
    }
    for (const client of [world.rex, world.ada])
      expect(await client.get(`${account.path}/audit`)).toFailWith(403, 'forbidden')
    expect(await admin.get(`${account.path}/audit`)).toFailWith(401, 'invalid_credentials')
    expect(await world.operator.get(account.path)).toFailWith(401, 'invalid_credentials')
    expect(await world.operator.get(`/v2/accounts/${'0'.repeat(32)}/audit`)).toFailWith(
      401,
      'invalid_credentials',
    )
  })

  it('is available for each record to every reader of that record', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const device = await world.device(account, { owner_id: user.id })
    const other = await world.device(account)
    expect(await user.patch(device.path, { name: 'Mine' })).toSucceed()
    const answer = await user.get(`${device.path}/audit`)
    expect(answer).toSucceed()
    expect(answer.data.map(({ action }: Entry) => action)).toEqual(['edited', 'created'])
    expect(answer.data).toEqual(await auditOf(account, { record_id: device.id }))
    expect(await world.rex.get(`${device.path}/audit`)).toFailWith(403, 'forbidden')
    expect(await user.get(`${account.path}/devices/${user.id}/audit`)).toFailWith(404, 'bad_identifier')
    expect(await world.operator.delete(other.path)).toSucceed()
    const gone = await world.operator.get(`${other.path}/audit`)
    expect(gone.data.map(({ action }: Entry) => action)).toEqual(['deleted', 'created'])
    expect(await user.get(`${other.path}/audit`)).toFailWith(404, 'bad_identifier')
    expect(await world.operator.get(`${user.path}/audit`, { query: { action: 'created' } })).toSucceed()
  })

  it('follows a number by its one form', async () => {
    const account = await world.account(world.reseller)
    const path = `${account.path}/phone_numbers`
    expect(await world.operator.put(`${path}/%2B14155557100/port`, { my: 1 })).toSucceed()
    const entries = await auditOf({ path: `${path}/14155557100` })
    expect(entries.at(-1)).toMatchObject({
      action: 'created',
      record: { kind: 'number', id: '+14155557100' },
    })
  })

  it('is CSV with a line for each entry', async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { name: '=cmd', sip: { password: 'csv-secret' } })
    const [entry] = await auditOf(account, { kind: 'device' })
    const answer = await world.operator.get(`${account.path}/audit`, {
      query: { kind: 'device' },
      headers: { accept: 'text/csv' },
    })
    const [header, line, ...others] = answer.text.trim().split('\r\n')
    expect(others).toEqual([])
    expect(header).toBe(
      'id,at,actor_type,actor_id,action,kind,record_id,name,request_id,account_id,actor_account_id,client_address,changes,sequence,digest,previous_digest',
    )
    const beginning = [
      entry?.id,
      entry?.at,
      'user',
      world.operator.id,
      'created',
      'device',
      device.id,
      "'=cmd",
    ]
    expect(line?.startsWith(`${beginning.join(',')},${entry?.request_id},${account.id},`)).toBe(true)
    expect(answer.text).not.toContain('csv-secret')
    const none = await world.operator.get(`${account.path}/audit`, {
      query: { kind: 'nothing' },
      headers: { accept: 'text/csv' },
    })
    expect(none.text).toBe(`${header}\r\n`)
  })

  it('refuses bounds that are no times', async () => {
    expect(await world.ada.get(`${world.acme.path}/audit`, { query: { created_from: 'soon' } })).toFailWith(
      400,
      'validation error',
    )
    const backwards = { created_from: '20', created_to: '10' }
    expect(await world.ada.get(`${world.acme.path}/audit`, { query: backwards })).toFailWith(
      400,
      'validation error',
    )
  })

  it('gives just what is asked for, of whatever happened', async () => {
    const author = fc.constantFrom<Author>(
      { requestId: 'r', authAccountId: 'a', authUserId: 'ann' },
      { requestId: 'r', authAccountId: 'a', authUserId: 'ben' },
      { requestId: 'r', taskId: 'task', authAccountId: 'a' },
      { requestId: 'r' },
    )
    const happening = fc.record({
      author,
      kind: fc.constantFrom('sample', 'other'),
      id: fc.constantFrom('one', 'two', 'three'),
      action: fc.constantFrom('created', 'edited', 'deleted'),
      pauseSeconds: fc.constantFrom(0, 0, 1, 5),
    })
    const wish = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
    const filters = fc.record({
      actor_id: wish(fc.constantFrom('ann', 'ben', 'task', 'nobody')),
      kind: wish(fc.constantFrom('sample', 'other')),
      record_id: wish(fc.constantFrom('one', 'two')),
      action: wish(fc.constantFrom('created', 'edited', 'deleted')),
      from: wish(fc.nat(20)),
      to: wish(fc.nat(20)),
      descending: fc.constantFrom('true', 'false'),
      pageSize: fc.integer({ min: 1, max: 7 }),
    })
    const history = fc.array(happening, { minLength: 1, maxLength: 15 })
    await fc.assert(
      fc.asyncProperty(history, fc.array(filters, { maxLength: 6 }), async (happenings, questions) => {
        const account = await world.account(world.reseller)
        for (const { author: by, pauseSeconds, ...change } of happenings) {
          const set = new ChangeSet(by)
          set.record({ accountId: account.id, ...change })
          await world.server.store.commit(set)
          world.clock.advance({ seconds: pauseSeconds })
        }
        const all = await auditOf(account, { page_size: '100' })
        expect(all.length).toBe(happenings.length + 1)
        const times = all.map(({ at }) => at)
        for (const { descending, pageSize, from, to, ...same } of questions) {
          const bounds = [from, to].map((at) => (at === undefined ? undefined : times[at % times.length]))
          const [low = Math.min(...times), high = Math.max(...times)] = bounds.every((at) => at !== undefined)
            ? bounds.toSorted((a, b) => Number(a) - Number(b))
            : bounds
          const expected = all.filter(
            ({ at, actor, action, record }) =>
              at >= low &&
              at <= high &&
              (same.actor_id ?? actor.id) === actor.id &&
              (same.kind ?? record.kind) === record.kind &&
              (same.record_id ?? record.id) === record.id &&
              (same.action ?? action) === action,
          )
          const asked = Object.entries({
            ...same,
            descending,
            page_size: pageSize,
            created_from: from === undefined ? undefined : low,
            created_to: to === undefined ? undefined : high,
          }).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
          const found: Entry[] = []
          let key: string | undefined
          do {
            const query = { ...Object.fromEntries(asked), ...(key ? { start_key: key } : {}) }
            const page = await world.operator.get(`${account.path}/audit`, { query })
            expect(page).toSucceed()
            expect(page.data.length).toBeLessThanOrEqual(pageSize)
            found.push(...page.data)
            key = page.body.next_start_key
          } while (key)
          expect(found).toEqual(descending === 'true' ? expected : expected.toReversed())
        }
      }),
      { numRuns: countOf(5, 15) },
    )
  })

  // The size of a page does not depend on the engine.
  if (engine === engines[0] || isFullRun)
    it('is read in smaller pages where records are large, each entry once', async () => {
      const account = await world.account(world.reseller)
      const device = await world.device(account, {})
      const note = '.'.repeat(900_000)
      const texts = Array.from({ length: 8 }, (_, turn) => JSON.stringify({ turn, note }))
      const set = new ChangeSet({ requestId: 'large' })
      const rest = { accountId: account.id, kind: 'device', id: device.id, action: 'created' } as const
      for (const after of texts) set.record({ ...rest, after })
      await world.server.store.commit(set)
      for (const path of [`${account.path}/audit`, `${device.path}/audit`]) {
        for (const query of ['', 'filter_request_id=large']) {
          const pages: string[][] = []
          for (let key: string | undefined = ''; key !== undefined; ) {
            const page = await world.operator.get(`${path}?kind=device&${query}&start_key=${key}`)
            expect(page).toSucceed()
            pages.push(page.data.map(({ id }: Entry) => id))
            key = page.body.next_start_key
          }
          const found = pages.flat()
          expect(new Set(found).size).toBe(found.length)
          expect(found).toHaveLength(query === 'filter_request_id=large' ? 8 : 9)
          expect(pages.length).toBeGreaterThan(1)
        }
      }
    })

  it('looks through as many entries as there are for one', async () => {
    const account = await world.account(world.reseller)
    const set = new ChangeSet({ requestId: 'many' })
    set.record({ accountId: account.id, kind: 'rare', id: 'rare', action: 'created' })
    for (let entry = 0; entry < 11_000; entry += 1)
      set.record({ accountId: account.id, kind: 'sample', id: String(entry), action: 'edited' })
    await world.server.store.commit(set)
    const found = await auditOf(account, { kind: 'rare' })
    expect(found).toMatchObject([{ record: { id: 'rare' } }])
    // More than are looked for by their time.
    const at = String(found[0]?.at)
    expect(await auditOf(account, { kind: 'rare', created_from: at, created_to: at })).toEqual(found)
    const audit = createAudit(world.server)
    const page = await audit.page(
      { accountId: account.id, kind: 'rare' },
      { limit: 10, descending: true, long: false },
    )
    expect(page).toEqual({ items: [], next: expect.any(Number) })
  })

  it('finds what is about a record or by an actor, whether or not it is in the index', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const device = await world.device(account, { name: 'Phone 0' })
    const rename = async (turn: number) =>
      expect(await admin.patch(device.path, { name: `Phone ${turn}` })).toSucceed()
    const fill = async () => {
      const set = new ChangeSet({ requestId: 'many', authAccountId: account.id, authUserId: 'somebody' })
      for (let entry = 0; entry < 1200; entry += 1)
        set.record({ accountId: account.id, kind: 'sample', id: String(entry), action: 'edited' })
      await world.server.store.commit(set)
    }
    const indexed = async () => {
      const rows = await world.server.store.all<{ count: number }>(
        'SELECT count(*) AS count FROM audit_index WHERE account_id = $1 AND about = $2',
        [account.id, `r/${device.id}`],
      )
      return Number(rows[0]?.count)
    }
    const names = async () => {
      const pages: Entry[] = []
      for (let key: string | undefined = ''; key !== undefined; ) {
        const query = { record_id: device.id, page_size: '2', ...(key === '' ? {} : { start_key: key }) }
        const page = await world.operator.get(`${account.path}/audit`, { query })
        pages.push(...page.data)
        key = page.body.next_start_key
      }
      expect(await auditOf(account, { record_id: device.id })).toEqual(pages)
      return pages.map(({ record }) => record.name)
    }
    const namesBy = async (actor_id: string) =>
      (await auditOf(account, { actor_id })).map(({ record }) => record.name)
    const sample = { actor_id: 'somebody', record_id: '7' }
    await rename(1)
    await fill()
    for (const isIndexed of [false, true]) {
      if (isIndexed) await world.server.scheduler.runNow('audit index')
      expect(await indexed()).toBe(isIndexed ? 2 : 0)
      expect(await names()).toEqual(['Phone 1', 'Phone 0'])
      expect(await namesBy(admin.id)).toEqual(['Phone 1'])
      expect(await auditOf(account, sample)).toHaveLength(1)
    }
    await rename(2)
    await fill()
    for (const isIndexed of [false, true]) {
      if (isIndexed) await world.server.scheduler.runNow('audit index')
      expect(await indexed()).toBe(isIndexed ? 3 : 2)
      expect(await names()).toEqual(['Phone 2', 'Phone 1', 'Phone 0'])
      expect(await namesBy(admin.id)).toEqual(['Phone 2', 'Phone 1'])
      expect(await auditOf(account, sample)).toHaveLength(2)
      expect(await auditOf(account, { ...sample, actor_id: admin.id })).toEqual([])
    }
  })
})
