import { describe, expect, it } from 'vitest'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const exceeded = (cause: string, target: number) => ({
  message: `The account has reached its quota of ${cause}: ${target}`,
  cause,
  target,
})

const usual = {
  record_bytes: 1_000_000,
  records: 100_000,
  records_of_kind: {},
  sub_accounts: 1_000_000,
  file_bytes: 1_000_000_000,
  task_input_bytes: 20_000_000_000,
  accounts: {},
}

describeEngines('quotas', (engine) => {
  const world = useWorld(engine)
  const configure = (values: object) => world.configure('quotas', { ...usual, ...values })

  const customer = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    return { account, admin, devices: `${account.path}/devices` }
  }

  describe('of records', () => {
    it('refuse one too many of a kind, and leave room for others and where one goes', async () => {
      const { account, admin, devices } = await customer()
      await configure({ records_of_kind: { device: 2 } })
      const first = await world.device(account)
      await world.device(account)
      await world.unchanged(async () => {
        expect(await admin.put(devices, { name: 'third' })).toFailWith(
          403,
          'quota_exceeded',
          exceeded('device', 2),
        )
        const { data } = await admin.get(`${account.path}/quotas`)
        expect(data).toEqual([
          { name: 'user', used: 1, limit: 100_000 },
          { name: 'device', used: 2, limit: 2 },
          ...['group', 'callflow', 'number'].map((name) => ({ name, used: 0, limit: 100_000 })),
          { name: 'webhook', used: 0, limit: 100 },
          { name: 'resource', used: 0, limit: 200 },
          { name: 'connectivity', used: 0, limit: 200 },
          { name: 'sub_accounts', used: 0, limit: 1_000_000 },
          { name: 'file_bytes', used: 0, limit: 1_000_000_000 },
        ])
        const ofMaster = await world.operator.get(`${world.master.path}/quotas`)
        expect(ofMaster.data).toEqual([{ name: 'file_bytes', used: 0, limit: 1_000_000_000 }])
        // The account is full for every caller.
        expect(await world.operator.put(devices, { name: 'third' })).toFailWith(403, 'quota_exceeded')
      })
      expect(await admin.patch(first.path, { name: 'renamed' })).toSucceed()
      // Only devices are full.
      expect(await admin.put(`${account.path}/users`, { first_name: 'One', last_name: 'More' })).toSucceed()
      expect(await admin.delete(first.path)).toSucceed()
      expect(await admin.put(devices, { name: 'third' })).toSucceed()
      expect(await admin.put(devices, { name: 'fourth' })).toFailWith(403, 'quota_exceeded')
      await configure({ records_of_kind: { device: 4 } })
      expect(await admin.put(devices, { name: 'fourth' })).toSucceed()
    })

    it('refuse a new user for a name in use before they refuse it for lack of room', async () => {
      const { account, admin } = await customer()
      const taken = { first_name: 'A', last_name: 'B', username: 'taken' }
      expect(await admin.put(`${account.path}/users`, taken)).toSucceed()
      await configure({ records_of_kind: { user: 2 } })
      const others = { ...taken, username: 'free' }
      await world.unchanged(async () => {
        expect(await admin.put(`${account.path}/users`, taken)).toBreak({ username: ['unique'] })
        expect(await admin.put(`${account.path}/users`, others)).toFailWith(403, 'quota_exceeded')
      })
    })

    it('stay what they are however often records are changed', async () => {
      const { account, admin, devices } = await customer()
      await configure({ records_of_kind: { device: 2 } })
      const { path } = await world.device(account)
      for (let change = 0; change < 5; change += 1)
        expect(await admin.patch(path, { name: `name ${change}` })).toSucceed()
      expect(await admin.put(devices, { name: 'second' })).toSucceed()
      expect(await admin.put(devices, { name: 'third' })).toFailWith(403, 'quota_exceeded')
    })

    it('count what was there before they were lowered', async () => {
      const { account, admin, devices } = await customer()
      await configure({ records_of_kind: { device: 1 } })
      await world.device(account)
      expect(await admin.put(devices, { name: 'no' })).toFailWith(403, 'quota_exceeded')
      await configure({})
      for (let made = 0; made < 4; made += 1) await world.device(account)
      await configure({ records_of_kind: { device: 2 } })
      expect(await admin.put(devices, { name: 'no' })).toFailWith(403, 'quota_exceeded')
      await configure({ records_of_kind: { device: 4 } })
      expect(await admin.put(devices, { name: 'no' })).toFailWith(
        403,
        'quota_exceeded',
        exceeded('device', 4),
      )
    })

    it('are those of the account where the operator says so', async () => {
      const { account, admin, devices } = await customer()
      const other = await customer()
      await configure({
        records_of_kind: { device: 5 },
        accounts: { [account.id]: { records_of_kind: { device: 1 } } },
      })
      await world.device(account)
      expect(await admin.put(devices, { name: 'no' })).toFailWith(
        403,
        'quota_exceeded',
        exceeded('device', 1),
      )
      await world.device(other.account)
      expect(await other.admin.put(other.devices, { name: 'yes' })).toSucceed()
    })

    it('cannot be raised by the accounts that they limit', async () => {
      const { account, admin } = await customer()
      const own = `${account.path}/configs/quotas`
      expect(await admin.put(own, { records: 1_000_000 })).toFailWith(404, 'bad_identifier')
      expect(await world.ross.put(own, { records: 1_000_000 })).toFailWith(404, 'bad_identifier')
      expect(await admin.post('/v2/system_configs/quotas', { default: {} })).toFailWith(403, 'forbidden')
    })

    it('apply to phone numbers', async () => {
      const { account } = await customer()
      await configure({ records_of_kind: { number: 1 } })
      const at = (number: string) => `${account.path}/phone_numbers/${encodeURIComponent(number)}`
      expect(await world.operator.put(at('+12145550111'), {})).toSucceed()
      await world.unchanged(async () =>
        expect(await world.operator.put(at('+12145550112'), {})).toFailWith(
          403,
          'quota_exceeded',
          exceeded('number', 1),
        ),
      )
      expect(await world.operator.patch(at('+12145550111'), { mine: true })).toSucceed()
    })

    it('apply to accounts below one, at whatever depth', async () => {
      const { account } = await customer()
      await configure({ accounts: { [account.id]: { sub_accounts: 2 } } })
      const [child] = await world.chain(2, account)
      const data = { name: 'Third', realm: 'third.quota.test' }
      await world.unchanged(async () => {
        for (const { path } of [account, child])
          expect(await world.operator.put(path, data)).toFailWith(
            403,
            'quota_exceeded',
            exceeded('account', 2),
          )
      })
    })

    it('apply to accounts that move below one, with their whole subtrees', async () => {
      const { account } = await customer()
      await configure({ accounts: { [account.id]: { sub_accounts: 2 } } })
      const [large, small] = [await world.chain(3, world.master), await world.chain(2, world.master)]
      const moved = ([first]: typeof large) => world.operator.post(`${first?.path}/move`, { to: account.id })
      await world.unchanged(async () =>
        expect(await moved(large)).toFailWith(403, 'quota_exceeded', exceeded('account', 2)),
      )
      expect(await moved(small)).toSucceed()
      // A move inside the subtree adds no account.
      const [top, leaf] = small
      const inside = await world.operator.post(`${leaf?.path}/move`, { to: account.id })
      expect(inside).toSucceed()
      expect(await world.operator.post(`${top?.path}/move`, { to: leaf?.id })).toSucceed()
    })

    it('do not bind the account on top of all', async () => {
      await configure({ records_of_kind: { device: 0 } })
      expect(await world.operator.put(`${world.master.path}/devices`, { name: 'mine' })).toSucceed()
      await configure({})
    })

    it('are passed by no more than the requests of one moment', async () => {
      const { admin, account, devices } = await customer()
      await configure({ records_of_kind: { device: 3 } })
      const atOnce = 8
      await Promise.all(
        Array.from({ length: atOnce }, (_, index) => admin.put(devices, { name: `at once ${index}` })),
      )
      const list = await admin.get(devices)
      expect(list.data.length).toBeGreaterThanOrEqual(3)
      expect(list.data.length).toBeLessThanOrEqual(3 + atOnce)
      expect(await admin.put(devices, { name: 'later' })).toFailWith(403, 'quota_exceeded')
      await configure({})
      expect(account.id).toHaveLength(32)
    })
  })

  describe('of bytes', () => {
    it('apply to logos and photos together', async () => {
      const { account, admin } = await customer()
      await configure({ accounts: { [account.id]: { file_bytes: png.length + 10 } } })
      const image = { body: png, headers: { 'content-type': 'image/png' } }
      const logo = `${account.path}/whitelabel/logo`
      expect(await admin.put(`${account.path}/whitelabel`, { domain: `${account.id}.test` })).toSucceed()
      expect(await admin.post(logo, undefined, image)).toSucceed()
      await world.unchanged(async () =>
        expect(await admin.post(`${admin.path}/photo`, undefined, image)).toFailWith(
          403,
          'quota_exceeded',
          exceeded('file_bytes', png.length + 10),
        ),
      )
      // A replacement needs no additional room.
      expect(await admin.post(logo, undefined, image)).toSucceed()
    })

    it('apply to the inputs of all tasks together, until one is deleted', async () => {
      const { account, admin } = await customer()
      const body = Buffer.from(`e164,account_id\n+12145550100,${account.id}\n`)
      const tasks = `${account.path}/tasks`
      const send = () =>
        admin.put(tasks, undefined, {
          query: { category: 'number_management', action: 'import' },
          body,
          headers: { 'content-type': 'text/csv' },
        })
      await configure({ accounts: { [account.id]: { task_input_bytes: Math.floor(body.length * 1.5) } } })
      const first = await send()
      expect(first).toSucceed()
      await world.unchanged(async () =>
        expect(await send()).toFailWith(
          403,
          'quota_exceeded',
          exceeded('task_input_bytes', Math.floor(body.length * 1.5)),
        ),
      )
      expect(await admin.delete(`${tasks}/${first.body.metadata.id}`)).toSucceed()
      expect(await send()).toSucceed()
      // The server deletes the rest of a task in the background, which a comparison of the store would see.
      await world.server.scheduler.runNow('task leftovers')
    })
  })

  describe('the size of a record', () => {
    const large = (bytes: number) => ({ name: 'Large', notes: 'x'.repeat(bytes) })

    it('is bounded when it is made, and when a change makes it larger', async () => {
      const { admin, account, devices } = await customer()
      await configure({ record_bytes: 3000 })
      await world.unchanged(async () => {
        const refused = await admin.put(devices, large(3000))
        expect(refused).toFailWith(413, 'record_too_large')
        const { value, message, ...rest } = refused.data
        expect(rest).toEqual({ cause: 'device', target: 3000 })
        expect(value).toBeGreaterThan(3000)
        expect(message).toBe(
          `A record of the kind device can have at most 3000 bytes of JSON text; this one has ${value}`,
        )
      })
      const { path } = await world.device(account, large(1500))
      await world.unchanged(async () =>
        expect(await admin.patch(path, { more: 'y'.repeat(1500) })).toFailWith(413, 'record_too_large'),
      )
      expect(await admin.patch(path, { more: 'y' })).toSucceed()
    })

    it('is bounded by its values, when it is made and when a change adds some', async () => {
      const { admin, account, devices } = await customer()
      await configure({ record_values: 500 })
      const some = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
      await world.unchanged(async () => {
        const refused = await admin.put(devices, { name: 'Many', custom: some(500) })
        expect(refused).toFailWith(413, 'record_too_large')
        const { value, message, ...rest } = refused.data
        expect(rest).toEqual({ cause: 'device', target: 500 })
        expect(value).toBeGreaterThan(500)
        expect(message).toBe(`A record of the kind device can have at most 500 values; this one has ${value}`)
      })
      const { path } = await world.device(account, { name: 'Many', custom: some(400) })
      await world.unchanged(async () =>
        expect(await admin.patch(path, { more: some(100) })).toFailWith(413, 'record_too_large'),
      )
      await world.unchanged(async () =>
        expect(await admin.patch(account.path, { more: some(500) })).toFailWith(413, 'record_too_large'),
      )
      expect(await admin.patch(path, { more: 'a, b, c, [d], {e}'.repeat(200) })).toSucceed()
    })

    it('may stay as it was, or become smaller, where it has had more values before', async () => {
      const { account, admin } = await customer()
      const some = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
      const { path } = await world.device(account, { name: 'Many', custom: some(400) })
      await configure({ record_values: 100 })
      expect(await admin.patch(path, { name: 'Renamed' })).toSucceed()
      expect(await admin.patch(path, { custom: { k1: null } })).toSucceed()
      await world.unchanged(async () =>
        expect(await admin.patch(path, { custom: { k1: 1 } })).toFailWith(413, 'record_too_large'),
      )
    })

    it('is counted in bytes, not in characters', async () => {
      const { admin, devices } = await customer()
      await configure({ record_bytes: 3000 })
      expect(await admin.put(devices, { name: 'Wide', notes: '€'.repeat(1000) })).toFailWith(
        413,
        'record_too_large',
      )
      expect(await admin.put(devices, { name: 'Narrow', notes: 'e'.repeat(1000) })).toSucceed()
    })

    it('is limited for ledger entries, too', async () => {
      const { account } = await customer()
      await configure({ record_bytes: 3000 })
      const credit = {
        source: { service: 'payments', id: 'large' },
        usage: { type: 'credit', quantity: 1, unit: 'payment' },
        amount: 1,
        metadata: { notes: 'm'.repeat(3000) },
      }
      await world.unchanged(async () =>
        expect(await world.operator.put(`${account.path}/ledgers/credit`, credit)).toFailWith(
          413,
          'record_too_large',
        ),
      )
    })

    it('ends a row of a task, and not the task', async () => {
      await configure({ record_bytes: 3000 })
      const description = 'd'.repeat(3000)
      const csv = `prefix,rate_cost,ratedeck_id,description\n1,0.1,sized,\n2,0.1,sized,${description}\n3,0.1,sized,\n`
      const { task, output } = await runTask({
        by: world.operator,
        path: world.master.path,
        category: 'rates',
        action: 'import',
        csv,
      })
      expect(task).toMatchObject({ status: 'partial', success_count: 2, failure_count: 1 })
      expect(rowsOf(output).map(({ prefix, error }) => [prefix, error])).toEqual([['2', 'record_too_large']])
      await configure({})
    })
  })
})
