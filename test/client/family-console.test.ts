// The public console of the family against a server, over HTTP: from the loaded page to its screens, and what
// they do when sessions end, requests cost money, and accounts are deleted.
import { expect, it } from 'vitest'
import { gregorianOfUnix } from '../../src/lib/gregorian.ts'
import { FamilyConsole } from '../support/kazoo/family-console.ts'
import { sampleApps } from '../support/world/route-samples.ts'
import { describeAnyEngine, type TestAccount, useWorld, type World } from '../support/world/world.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\nlogo', 'latin1')
const pngUrl = `data:image/png;base64,${png.toString('base64')}`

describeAnyEngine('the public console of the family', (engine) => {
  // The operator who builds the world stays signed in; users of the console are signed in for an hour.
  const settings = { 'crossbar.auth': { token_auth_expiry_s: 0 } }
  const settle = ({ configure }: World) => configure('apps_store', { apps: sampleApps })
  const world = useWorld(engine, settle, undefined, { settings })

  const password = 'console-secret'
  let consoles = 0

  const consoleOf = () => new FamilyConsole(world.anonymous)

  /** A reseller whose admin is signed in and sees the first screen. */
  const arrived = async () => {
    consoles += 1
    const account = await world.account(world.reseller, { name: `Console ${engine} ${consoles}` })
    await world.operator.put(`${account.path}/reseller`, {})
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const anHour = { auth_modules: { cb_user_auth: { token_auth_expiry_s: 3600 } } }
    await world.operator.post(`${account.path}/security`, anHour)
    await world.admin(account, { username: 'carla', password })
    const page = consoleOf()
    expect(await page.signIn('Carla', password, account.name)).toSucceed()
    await page.arrive()
    expect(page.isSignedIn).toBe(true)
    page.takeSeen()
    const own = `accounts/${account.id}`
    return { account, page, own }
  }

  const below = (account: TestAccount, name = 'Below') =>
    world.account(account, { name: `${name} ${account.id.slice(-6)}` })

  /** From now on the account has these plans. */
  const sold = async (account: TestAccount, plan: object) => {
    const { data } = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect(await world.ross.post(`${account.path}/services`, { add: [data.id] })).toSucceed()
  }

  /** Statuses of all requests. */
  const statusesOf = (page: FamilyConsole) => [
    ...new Set(page.takeSeen().map((line) => line.split(' ').at(-1))),
  ]

  it('loads its page signed out, with the text undefined for a token, with and without a brand', async () => {
    const page = consoleOf()
    const host = `portal-${engine}.test`
    const { look } = await page.load(host)
    expect(look).toFailWith(404, 'bad_identifier')
    expect(page.takeSeen()).toEqual([
      `GET whitelabel/${host} 404`,
      `GET whitelabel/${host}/logo 404`,
      `GET whitelabel/${host}/logo 404`,
      `GET whitelabel/${host}/icon 404`,
    ])
    const { account, page: owner, own } = await arrived()
    expect(await owner.write('PUT', `${own}/whitelabel`, { domain: host, company_name: 'Brand' })).toSucceed()
    expect(await owner.upload(`${own}/whitelabel/logo`, 'application/x-base64', pngUrl)).toSucceed()
    // Visitors see the brand after the operator has confirmed its host.
    const confirmed = { envelope: { confirm_domain: true } }
    const brand = { domain: host, company_name: 'Brand' }
    expect(await world.operator.post(`/v2/${own}/whitelabel`, brand, confirmed)).toSucceed()
    const branded = await page.load(host)
    expect(branded.look.data).toMatchObject({ domain: host, company_name: 'Brand' })
    expect(branded.pictures.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
      [200, 'image/png'],
      [200, 'image/png'],
      [404, 'application/json'],
    ])
    expect(await world.operator.delete(`${account.path}/whitelabel`)).toSucceed()
  })

  it('rejects a wrong password, accepts the right one, and loads its first screen', async () => {
    const account = await world.account(world.reseller, { name: `First ${engine}` })
    await world.admin(account, { username: 'carla', password })
    const page = consoleOf()
    expect(await page.signIn('carla', 'wrong', account.name)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(page.isSignedIn).toBe(false)
    const signedIn = await page.signIn('CARLA', password, account.name)
    expect(signedIn.data).toMatchObject({
      account_id: account.id,
      account_name: account.name,
      owner_id: page.userId,
      is_reseller: false,
      reseller_id: world.reseller.id,
      language: 'en-US',
    })
    page.takeSeen()
    const before = page.preflights
    await page.arrive()
    const own = `accounts/${account.id}`
    const user = `${own}/users/${page.userId}`
    expect(page.takeSeen()).toEqual([
      `GET ${own}/external_numbers 404`,
      `GET ${own} 200`,
      `GET ${user} 200`,
      `GET ${own}/apps_store 200`,
      `PATCH ${user} 200`,
      `GET ${own}/limits 200`,
      `GET ${own}/ledgers/total 200`,
      `GET ${own}/braintree/customer 404`,
      `GET ${own} 200`,
      `POST ${own} 200`,
      `GET ${own}/alerts 200`,
    ])
    expect(page.preflights - before).toBe(11)
    expect((await page.get(user)).data).toMatchObject({ appList: ['sample-app'], priv_level: 'admin' })
    expect((await page.get(own)).data.ui_restrictions).toEqual({ myaccount: { profile: { show_tab: true } } })
    const reloaded = await page.reload()
    expect(reloaded).toSucceed()
    expect(reloaded.data).toMatchObject(signedIn.data)
  })

  it('comes to its first screen on one full bucket of throttling tokens', async () => {
    const account = await world.account(world.reseller, { name: `Thrifty ${engine}` })
    await world.admin(account, { username: 'carla', password })
    const page = consoleOf()
    await world.configure('crossbar', { token_costs: 1 })
    try {
      await page.load('nobody.test')
      expect(await page.signIn('carla', password, account.name)).toSucceed()
      await page.arrive()
      expect(page.isSignedIn).toBe(true)
      expect(page.takeSeen().filter((line) => line.endsWith(' 429'))).toEqual([])
    } finally {
      await world.configure('crossbar', { token_costs: 0 })
    }
  })

  it('opens the editor of an account below, and saves it', async () => {
    const { account, page, own } = await arrived()
    const child = await below(account)
    await world.operator.patch(child.path, { wnm_allow_additions: true })
    await world.user(child, { email: 'someone@child.test' })
    const at = `accounts/${child.id}`
    const rows = (await page.get(`${own}/children?ascending=true`)).data
    expect(rows).toEqual([
      { id: child.id, name: child.name, realm: child.realm, descendants_count: 0, flags: [] },
    ])
    const record = await page.get(at)
    expect([record.data.enabled, record.body.metadata.enabled]).toEqual([true, true])
    const [person] = (await page.get(`${at}/users`)).data
    expect(person).toMatchObject({ first_name: 'Some', last_name: 'Body', email: 'someone@child.test' })
    const above = (await page.get(`${at}/tree`)).data
    expect(above).toEqual([expect.objectContaining({ id: account.id, name: account.name })])
    expect((await page.get(`${at}/callflows?filter_numbers=no_match`)).data).toEqual([])
    const flow = { numbers: ['no_match'], flow: { module: 'offnet', data: {}, children: {} } }
    expect((await page.write('PUT', `${at}/callflows`, flow)).data.flow.module).toBe('offnet')
    expect((await page.get(`${at}/callflows?filter_numbers=no_match`)).data).toHaveLength(1)
    expect((await page.get(`${at}/multi_factor`)).data).toEqual(expect.any(Object))
    expect((await page.get(`${at}/security`)).data.account.auth_modules).toEqual({})
    await page.get(`${at}/limits`)
    expect((await page.get(`${at}/ledgers/total`)).data.amount).toBe(0)
    const classifiers = (await page.get(`${at}/phone_numbers/classifiers`)).data
    for (const one of Object.values(classifiers))
      expect(one).toMatchObject({ regex: expect.any(String), friendly_name: expect.any(String) })
    expect((await page.get(`${at}/apps_store/blacklist`)).data.blacklist).toEqual([])
    expect(statusesOf(page)).toEqual(['200', '201'])
    const custom = { contact: { billing: { email: 'pay@child.test' } }, contract: { representative: 'C' } }
    const saved = await page.writeAccount(record.data, { name: `Renamed ${child.id.slice(-6)}`, ...custom })
    expect(saved.data).toMatchObject({
      ...custom,
      wnm_allow_additions: true,
      ui_metadata: { ui: 'monster-ui' },
    })
    const hidden = await page.write('POST', `${at}/apps_store/blacklist`, { blacklist: ['sample-app'] })
    expect(hidden.data.blacklist).toEqual(['sample-app'])
    expect((await page.get(`${at}/apps_store`)).data).toEqual([])
  })

  it('makes an account below with all that comes with one, and deletes it', async () => {
    const { page, own, account } = await arrived()
    const made = await page.write('PUT', own, {
      name: `Made ${account.id.slice(-6)}`,
      realm: `made-${account.id.slice(-6)}.test`,
      language: 'en-US',
      timezone: 'Europe/Berlin',
      contact: { billing: {}, technical: {} },
      call_restriction: { international: { action: 'deny' } },
      ui_restrictions: {},
      contract: {},
    })
    expect(made).toSucceed(201)
    const at = `accounts/${made.data.id}`
    expect((await page.get(`${at}/apps_store`)).data).toMatchObject([{ id: 'sample-app' }])
    await page.get(`${at}/limits`)
    await page.write('PUT', `${at}/callflows`, { numbers: ['no_match'], flow: { module: 'offnet' } })
    await page.write('POST', `${at}/limits`, { twoway_trunks: 2, inbound_trunks: 0, outbound_trunks: 0 })
    await page.write('PUT', `${at}/users`, {
      first_name: 'New',
      last_name: 'Admin',
      username: 'new-admin',
      password: 'new-secret',
      priv_level: 'admin',
      account_name: 'echoed',
      apps: [],
    })
    const installed = await page.write('PUT', `${at}/apps_store/sample-app`, { allowed_users: 'all' })
    expect(installed.data).toMatchObject({ name: 'sample', allowed_users: 'all' })
    expect((await page.link(`${at}/apps_store/sample-app/icon`)).headers['content-type']).toBe('image/png')
    expect((await page.write('DELETE', at)).data.id).toBe(made.data.id)
    expect(statusesOf(page)).toEqual(['201', '200'])
  })

  it('saves the tab of limits: restrictions by the name in each classifier, and no invented ones', async () => {
    const { page, account, own } = await arrived()
    const at = `accounts/${(await below(account)).id}`
    const classifiers: Record<string, { name?: string }> = (await page.get(`${at}/phone_numbers/classifiers`))
      .data
    const deny = { action: 'deny' }
    const restriction = Object.fromEntries(
      Object.values(classifiers).map(({ name }) => [
        name,
        name === 'international' ? deny : { action: 'inherit' },
      ]),
    )
    const record = await page.get(at)
    const saved = await page.writeAccount(record.data, { call_restriction: restriction })
    expect(saved.data.call_restriction).toEqual(restriction)
    expect(Object.keys(saved.data.call_restriction)).toEqual(Object.keys(classifiers))
    expect(saved.body.metadata.warnings).toBeUndefined()
    // Versions that found no name wrote these keys.
    const madeUp = { '': deny, undefined: deny, toll_us: deny, closed_groups: deny }
    const writes: [method: string, path: string, more: object][] = [
      ['POST', at, { name: record.data.name }],
      ['PUT', `${own}/users`, { first_name: 'Ann', last_name: 'Limited' }],
      ['PUT', `${own}/devices`, { name: 'Limited' }],
    ]
    for (const [method, path, more] of writes) {
      const answer = await page.write(method, path, { ...more, call_restriction: madeUp })
      expect(answer.data.call_restriction, path).toEqual({ toll_us: deny, closed_groups: deny })
      const message = 'No class of numbers has this name: the key was dropped'
      expect(answer.body.metadata.warnings, path).toEqual(
        expect.arrayContaining([
          { path: 'call_restriction.', message },
          { path: 'call_restriction.undefined', message },
        ]),
      )
    }
  })

  it('opens the form of a device, although nothing was ever configured for it', async () => {
    const { page, own } = await arrived()
    const { data: device } = await page.write('PUT', `${own}/devices`, {
      name: 'Desk',
      device_type: 'sip_device',
      sip: { username: 'desk' },
    })
    expect((await page.get(`${own}/devices?with_status=true&paginate=false`)).data).toMatchObject([
      { id: device.id, device_type: 'sip_device', enabled: true, registrable: true, registered: false },
    ])
    expect((await page.get(`${own}/configs/kazoo_endpoint`)).data).toEqual({ id: 'configs_kazoo_endpoint' })
    for (const path of ['channels?paginate=false', 'registrations'])
      expect((await page.get(`${own}/${path}`)).data, path).toEqual([])
    for (const path of ['limits', 'phone_numbers/classifiers'])
      expect(await page.get(`${own}/${path}`), path).toSucceed()
    const saved = await page.write('POST', `${own}/devices/${device.id}`, { ...device, name: 'Desk 2' })
    expect(saved.data.name).toBe('Desk 2')
    expect(await page.write('DELETE', `${own}/devices/${device.id}`)).toSucceed()
    expect(statusesOf(page)).toEqual(['201', '200'])
  })

  it('lists a new group, found by the group_id of its callflow', async () => {
    const { page, own } = await arrived()
    const { data: group } = await page.write('PUT', `${own}/groups`, { name: 'Sales', endpoints: {} })
    const flow = { module: 'ring_group', data: { endpoints: [] }, children: {} }
    const { data: callflow } = await page.write('PUT', `${own}/callflows`, {
      numbers: ['401'],
      type: 'userGroup',
      group_id: group.id,
      flow,
    })
    expect((await page.get(`${own}/groups?paginate=false`)).data).toMatchObject([
      { id: group.id, name: 'Sales' },
    ])
    const found = await page.get(`${own}/callflows?has_key=group_id&paginate=false`)
    expect(found.data).toMatchObject([
      { id: callflow.id, type: 'userGroup', group_id: group.id, numbers: ['401'], featurecode: false },
    ])
    expect((await page.get(`${own}/callflows?filter_group_id=${group.id}`)).data).toHaveLength(1)
    expect((await page.get(`${own}/callflows?has_key=featurecode`)).data).toEqual([])
  })

  it('shows the panel of the account: access list, plan, balance, transactions, profile', async () => {
    const { page, own } = await arrived()
    expect((await page.get(`${own}/access_lists`)).data).toEqual({})
    const list = { order: 'allow,deny', cidrs: [] }
    expect((await page.write('POST', `${own}/access_lists`, list)).data).toMatchObject(list)
    const { data } = await page.get(`${own}/services/summary`)
    for (const invoice of data.invoices) expect(invoice.items).toEqual(expect.any(Array))
    expect(data.billing_cycle.next).toEqual(expect.any(Number))
    const [from, to] = [
      gregorianOfUnix(world.clock.now() / 1000) - 86_400,
      gregorianOfUnix(world.clock.now() / 1000),
    ]
    const range = `created_from=${from}&created_to=${to}`
    await page.get(`${own}/ledgers`)
    expect((await page.get(`${own}/ledgers/per-minute-voip?${range}&page_size=15`)).data).toEqual([])
    await page.get(`${own}/transactions?paginate=false&${range}&reason=no_calls`)
    const user = `${own}/users/${page.userId}`
    const { data: profile } = await page.get(user)
    const saved = await page.write('POST', user, {
      ...profile,
      ui_flags: { twelve_hours_mode: true },
      apps: [],
    })
    expect(saved.data).toMatchObject({ ui_flags: { twelve_hours_mode: true }, appList: ['sample-app'] })
    expect(statusesOf(page)).toEqual(['200'])
  })

  it('reads plans at the paths of version 4', async () => {
    const { account, page, own } = await arrived()
    await sold(account, { users: { user: { rate: 2 } } })
    for (const path of ['current', 'available', 'available?details=true']) {
      const here = await page.get(`${own}/service_plans/${path}`)
      const there = await page.get(`${own}/services${path === 'current' ? '' : `/${path}`}`)
      expect(here.data, path).toEqual(there.data)
    }
    expect((await page.get(`${own}/service_plans/available`)).data).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: expect.any(String), name: 'Plan' })]),
    )
  })

  it('adds, edits, finds and deletes numbers', async () => {
    const { page, own } = await arrived()
    for (const list of ['callflows', 'groups', 'users', 'children'])
      expect((await page.get(`${own}/${list}?paginate=false`)).data).toEqual(expect.any(Array))
    const mobiles = await page.get(`${own}/devices?filter_device_type=mobile&has_key=mobile&paginate=false`)
    expect(mobiles.data).toEqual([])
    const carriers = (await page.get(`${own}/phone_numbers/carriers_info`)).data
    expect(carriers).toMatchObject({
      usable_carriers: expect.any(Array),
      usable_creation_states: expect.any(Array),
      maximal_prefix_length: expect.any(Number),
    })
    expect((await page.get(own)).data.wnm_allow_additions).toBe(true)
    const numbers = ['1', '2'].map((digit) => `+1415555${String(consoles).padStart(3, '0')}${digit}`)
    const [number = ''] = numbers
    const added = await page.write('PUT', `${own}/phone_numbers/collection`, {
      numbers,
      carrier_name: 'local',
    })
    expect(Object.keys(added.data.success).sort()).toEqual(numbers)
    const states = encodeURIComponent(JSON.stringify(['in_service', 'port_in', 'reserved']))
    const listed = (await page.get(`${own}/phone_numbers?paginate=false&filter_state=${states}`)).data.numbers
    for (const entry of Object.values<Record<string, unknown>>(listed))
      expect([Array.isArray(entry.features), Array.isArray(entry.features_available)]).toEqual([true, true])
    const all = (await page.get(`${own}/phone_numbers?paginate=false`)).data.numbers
    expect(Object.keys(all).sort()).toEqual(numbers)
    const one = `${own}/phone_numbers/${encodeURIComponent(number)}`
    const activated = await page.write('PUT', `${own}/phone_numbers/collection/activate`, { numbers })
    expect(Object.keys(activated.data.success).sort()).toEqual(numbers)
    const read = await page.get(one)
    expect(read.data.state).toBe('in_service')
    expect(read.body.metadata).toMatchObject({
      carrier_module: 'local',
      features: { available: expect.any(Array) },
    })
    const edited = await page.write('POST', one, { ...read.data, prepend: { enabled: true, name: 'Shop' } })
    expect(edited.data).toMatchObject({ id: number, features: expect.arrayContaining(['prepend']) })
    const found = await page.get(`${one}/identify`)
    expect(found.data).toMatchObject({ account_id: page.accountId, number })
    await page.write('POST', `${own}/phone_numbers/fix`)
    await page.write('POST', `${own}/phone_numbers/fix/${encodeURIComponent(number)}`)
    expect(statusesOf(page)).toEqual(['200', '201'])
    const unknown = await page.get(`${own}/phone_numbers/${encodeURIComponent('+14155559999')}`)
    expect(unknown).toFailWith(404, 'bad_identifier')
    const half = await page.write('DELETE', `${own}/phone_numbers/collection`, {
      numbers: [number, '+14155559999'],
    })
    expect(Object.keys(half.data.success)).toEqual([number])
    const { code, error, message } = half.data.error['+14155559999']
    expect([code, error, message]).toEqual([404, expect.any(String), expect.any(String)])
  })

  it('shows calls, opens one, and downloads them all', async () => {
    const { page, own } = await arrived()
    const legs = [1, 2, 3].map((minute) => ({
      call_id: `call-${minute}-${page.accountId}`,
      timestamp: gregorianOfUnix(world.clock.now() / 1000) - minute * 60,
      caller_id_number: `+1415555000${minute}`,
      callee_id_number: '+14155550199',
      duration_seconds: 10,
      hangup_cause: 'NORMAL_CLEARING',
      custom_channel_vars: { account_id: page.accountId },
    }))
    expect(await world.operator.put('/v2/cdrs', legs)).toSucceed()
    await page.get(`${own}/devices?paginate=false`)
    const to = gregorianOfUnix(world.clock.now() / 1000) + 1
    const range = `created_from=${to - 86_400}&created_to=${to}`
    const first = await page.get(`${own}/cdrs/interaction?${range}&page_size=2`)
    const next = first.body.next_start_key
    const second = await page.get(`${own}/cdrs/interaction?${range}&page_size=2&start_key=${next}`)
    expect(second.body.next_start_key).toBeUndefined()
    const rows = [...first.data, ...second.data]
    expect(rows.map(({ call_id }) => call_id)).toEqual(legs.map(({ call_id }) => call_id))
    const [row] = rows
    expect(row).toMatchObject({ hangup_cause: 'NORMAL_CLEARING', caller_id_number: '+14155550001' })
    const opened = await page.get(`${own}/cdrs/legs/${row.id}`)
    expect(opened.data).toMatchObject([{ id: row.id }])
    expect((await page.get(`${own}/cdrs/${row.id}`)).data.call_id).toBe(row.call_id)
    expect(statusesOf(page)).toEqual(['200'])
    const sheet = await page.link(`${own}/cdrs?${range}&paginate=false&accept=text/csv`)
    expect([sheet.status, sheet.headers['content-type']]).toEqual([200, expect.stringContaining('text/csv')])
    for (const { call_id } of legs) expect(sheet.text).toContain(call_id)
  })

  it('shows alerts, whose rows are flat', async () => {
    const { account, page, own } = await arrived()
    await sold(account, { users: { user: { rate: 0 } } })
    await page.write('PATCH', own, { notifications: { low_balance: { enabled: true, threshold: 5 } } })
    const rows = (await page.get(`${own}/alerts`)).data
    expect(rows.find(({ category }: { category: string }) => category === 'low_balance')).toMatchObject({
      id: expect.any(String),
      key: expect.any(Object),
      value: expect.any(Object),
      clearable: false,
      title: 'Balance below threshold',
      message: expect.any(String),
      category: 'low_balance',
      metadata: { available: 0, threshold: 5 },
    })
  })

  it('sets up a brand: settings, pictures as data URLs, a welcome text, DNS', async () => {
    const { account, page, own } = await arrived()
    const domain = `brand-${account.id.slice(-8)}.test`
    expect(await page.get(`${own}/whitelabel`)).toFailWith(404, 'bad_identifier')
    const first = { domain, company_name: 'Carla', nav: { help: 'https://help.test/' }, port: {} }
    const made = await page.write('PUT', `${own}/whitelabel`, first)
    const looks = { applicationTitle: 'Phones', custom_welcome: true, custom_welcome_message: 'Hello' }
    const saved = await page.write('POST', `${own}/whitelabel`, { ...made.data, ...looks })
    expect(saved.data).toMatchObject({ ...first, ...looks })
    for (const kind of ['logo', 'icon']) {
      await page.upload(`${own}/whitelabel/${kind}`, 'application/x-base64', pngUrl)
      const shown = await page.link(`${own}/whitelabel/${kind}`)
      expect([shown.headers['content-type'], shown.text]).toEqual(['image/png', png.toString('utf8')])
    }
    await page.upload(`${own}/whitelabel/welcome`, 'text/html', '<p>Hello</p>')
    await page.get(`${own}/whitelabel/domains?domain=${domain}`)
    expect(statusesOf(page)).toEqual(['404', '201', '200'])
  })

  it('signs in again automatically when its token has expired during use, and repeats its request', async () => {
    const { account, page, own } = await arrived()
    const { token } = page
    world.clock.advance({ seconds: 3601 })
    const { data } = await page.get(`${own}/users`)
    expect(data).toHaveLength(1)
    expect(page.takeSeen()).toEqual([`GET ${own}/users 401`, 'PUT user_auth 201', `GET ${own}/users 200`])
    expect([page.isSignedIn, page.token === token]).toEqual([true, false])
    world.clock.advance({ seconds: 3601 })
    expect(await page.write('PATCH', own, { org: 'Carla Ltd' })).toSucceed()
    expect(page.takeSeen()).toEqual([`PATCH ${own} 401`, 'PUT user_auth 201', `PATCH ${own} 200`])
    expect((await world.operator.get(account.path)).data.org).toBe('Carla Ltd')
  })

  it('stays signed in through refusals, and where a path or a record is not there', async () => {
    const { page, own } = await arrived()
    const nobody = 'f'.repeat(32)
    const asked: [string, number][] = [
      [`accounts/${world.rival.id}/users`, 403],
      [`${own}/users/${nobody}`, 404],
      [`${own}/external_numbers`, 404],
      [`${own}/nosuch`, 404],
      [`accounts/${nobody}/external_numbers`, 404],
      ['nosuch', 404],
      [`${own}/users?page_size=0`, 404],
    ]
    for (const [path, status] of asked) expect([path, (await page.get(path)).status]).toEqual([path, status])
    expect(page.takeSeen()).toHaveLength(asked.length)
    const invalid = await page.write('PUT', `${own}/users`, { first_name: '', last_name: 'x' })
    expect(invalid.data.first_name.minLength).toMatchObject({ message: expect.any(String), target: 1 })
    expect(page.isSignedIn).toBe(true)
  })

  it('is signed out, once and permanently, when its account is deleted', async () => {
    const { account, page } = await arrived()
    const child = await below(account)
    const at = `accounts/${child.id}`
    expect(await page.get(at)).toSucceed()
    expect(await world.operator.delete(child.path)).toSucceed()
    page.takeSeen()
    expect(await page.get(`${at}/users`)).toFailWith(401, 'invalid_credentials')
    expect(page.takeSeen()).toEqual([`GET ${at}/users 401`, 'PUT user_auth 201', `GET ${at}/users 401`])
    expect(page.isSignedIn).toBe(false)
    expect(await page.signIn('carla', password, account.name)).toSucceed()
    await page.arrive()
    expect(page.isSignedIn).toBe(true)
  })

  it('shows what something costs and does it when the user agrees', async () => {
    const { account, page, own } = await arrived()
    await sold(account, { users: { user: { rate: 2.5 } } })
    const users = `${own}/users`
    const person = { first_name: 'Costs', last_name: 'Money' }
    const declined = await page.write('PUT', users, person, false)
    expect(declined).toFailWith(402, 'accept charges')
    expect((await page.get(users)).data).toHaveLength(1)
    expect(await page.write('PUT', users, person)).toSucceed()
    expect((await page.get(users)).data).toHaveLength(2)
    expect(page.takeSeen()).toEqual([
      `PUT ${users} 402`,
      `GET ${users} 200`,
      `PUT ${users} 402`,
      `PUT ${users} 201`,
      `GET ${users} 200`,
    ])
    const asked = [{ bookkeeper: expect.any(String), rows: [['user', 1, 2.5, 2.5]] }]
    expect(page.charges).toEqual([asked, asked])
  })

  it('says when a trial has ended, at sign-in and in the middle', async () => {
    const { account, page, own } = await arrived()
    const at = gregorianOfUnix(world.clock.now() / 1000) + 30
    expect(await world.operator.patch(account.path, { trial_expires: at })).toSucceed()
    expect((await page.get(own)).data.trial_time_left).toBe(30)
    world.clock.advance({ seconds: 30 })
    const refused = await page.get(`${own}/users`)
    expect([refused.status, refused.data.account.expired.cause]).toEqual([423, at])
    const again = await consoleOf().signIn('carla', password, account.name)
    expect([again.status, again.data.account.expired.cause]).toEqual([423, at])
  })
})
