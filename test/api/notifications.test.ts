// How notices are worded and sent, by account, reseller and system.
import { expect, it } from 'vitest'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const noticeIds = Object.keys(declarationsOf(areas).notices).sort()

const system = '/v2/notifications'

const html = (body: string) => ({ headers: { 'content-type': 'text/html' }, body })
const plain = (body: string) => ({ headers: { 'content-type': 'text/plain' }, body })
const accept = (type: string) => ({ headers: { accept: type } })

describeEngines('notifications', (engine) => {
  const world = useWorld(engine)

  /** A reseller, its customer, and an admin of each. */
  const family = async () => {
    const reseller = await world.account(undefined, { send_email_on_creation: false })
    await world.operator.put(`${reseller.path}/reseller`, {})
    const customer = await world.account(reseller)
    const ross = await world.admin(reseller)
    const ada = await world.admin(customer)
    return {
      reseller,
      customer,
      ross,
      ada,
      ofReseller: `${reseller.path}/notifications`,
      ofCustomer: `${customer.path}/notifications`,
    }
  }

  let made = 0
  const freshAddress = () => {
    made += 1
    return `person${made}@mail.test`
  }

  /** The emails that a new user of an account gets. */
  const welcomeIn = async (account: { path: string }, fields: Record<string, unknown> = {}) => {
    const email = freshAddress()
    const data = { first_name: 'Zoe', last_name: 'Ze', username: email, email, ...fields }
    expect(await world.operator.put(`${account.path}/users`, data)).toSucceed()
    await world.deliverMail()
    return mailsTo(world.place.dataDir, email)
  }

  it('take bodies in UTF-8 and refuse others', async () => {
    const { ross, ofReseller } = await family()
    const path = `${ofReseller}/new_user`
    const latin = Buffer.from('<p>M\xfcller</p>', 'latin1')
    for (const [type, body] of [
      ['text/html', latin],
      ['text/plain', latin],
      ['text/html; charset=ISO-8859-1', Buffer.from('<p>Mueller</p>')],
    ] as const) {
      const answer = await world.refused(() =>
        ross.post(path, undefined, { headers: { 'content-type': type }, body }),
      )
      expect(answer).toBreak({ body: ['invalid'] })
    }
    const draft = { html: latin.toString('base64') }
    const preview = await world.refused(() => ross.post(`${path}/preview`, draft))
    expect(preview).toBreak({ body: ['invalid'] })
    const sent = { headers: { 'content-type': 'text/html; charset=UTF-8' }, body: '<p>Müller</p>' }
    expect(await ross.post(path, undefined, sent)).toSucceed()
    expect((await ross.get(path, accept('text/html'))).text).toBe('<p>Müller</p>')
  })

  it('are listed with their names; overridden notices are marked', async () => {
    const { ross, ofReseller } = await family()
    await ross.post(`${ofReseller}/new_user`, { subject: 'Welcome' })
    const { data } = await ross.get(ofReseller)
    expect(data.map(({ id }: { id: string }) => id)).toEqual(noticeIds)
    expect(data.filter((row: object) => 'account_overridden' in row)).toMatchObject([
      { id: 'new_user', account_overridden: true },
    ])
    expect(data.find(({ id }: { id: string }) => id === 'low_balance')).toEqual({
      id: 'low_balance',
      friendly_name: 'Low balance',
      category: 'billing',
      enabled: true,
      macros: {
        'account.id': expect.anything(),
        'account.name': expect.anything(),
        'account.realm': expect.anything(),
        current_balance: {
          friendly_name: 'Balance',
          i18n_label: 'current_balance',
          description: 'With its currency',
          example: '$3.20',
        },
        threshold: expect.anything(),
      },
    })
  })

  it('are read as they hold: settings as JSON, bodies by their content type', async () => {
    const { ada, ofCustomer } = await family()
    const answer = await ada.get(`${ofCustomer}/new_account`)
    expect(answer).toSucceedWith({
      id: 'new_account',
      friendly_name: 'New account',
      category: 'account',
      enabled: true,
      macros: expect.objectContaining({ 'new_account.name': expect.anything() }),
      subject: 'New account {{new_account.name}}',
      to: { type: 'admins' },
      template_charset: 'utf-8',
      templates: {
        'text/html': { length: expect.any(Number) },
        'text/plain': { length: expect.any(Number) },
      },
    })
    const text = await ada.get(`${ofCustomer}/new_account`, accept('text/plain'))
    expect(text.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(text.text).toContain(
      'The account {{new_account.name}} was created as a sub-account of {{account.name}}.',
    )
    expect(text.text.length).toBe(answer.data.templates['text/plain'].length)
    const page = await ada.get(`${ofCustomer}/new_account?accept=text/html`)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['content-security-policy']).toBe("default-src 'none'; sandbox")
    expect(page.headers['content-disposition']).toBe('attachment; filename="new_account.html"')
    expect(page.text).toContain('<p>The account {{new_account.name}}')
  })

  it('can be overridden once with PUT', async () => {
    const { ross, ofReseller } = await family()
    const data = { id: 'new_user', subject: 'Hello {{user.first_name}}', reply_to: 'help@brand.test' }
    const created = await ross.put(ofReseller, data)
    expect(created).toSucceed()
    expect(created.headers.location).toBe(`${ofReseller}/new_user`)
    expect(created.data).toMatchObject({
      id: 'new_user',
      subject: 'Hello {{user.first_name}}',
      reply_to: 'help@brand.test',
      account_overridden: true,
    })
    expect((await ross.get(`${ofReseller}/new_user`)).data).toEqual(created.data)
    const again = await world.unchanged(() => ross.put(ofReseller, data))
    expect(again).toFailWith(409, 'datastore_conflict')
    const unknown = await world.unchanged(() => ross.put(ofReseller, { id: 'voicemail_to_email' }))
    expect(unknown).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: 'voicemail_to_email',
    })
    expect(await ross.get(`${ofReseller}/voicemail_to_email`)).toFailWith(404, 'bad_identifier')
    expect(await ross.post(`${ofReseller}/voicemail_to_email`, {})).toFailWith(404, 'bad_identifier')
  })

  it('are inherited along the tree: account, then those above, then the system', async () => {
    const { ross, ofReseller, customer, ofCustomer } = await family()
    const subjectOf = (mail: string | undefined) => /^Subject: (.*)\r$/m.exec(mail ?? '')?.[1]
    const subject = async () => subjectOf((await welcomeIn(customer))[0])
    expect(await subject()).toBe(`Your user in the account ${customer.name}`)
    await world.operator.post(`${system}/new_user`, { subject: 'System: {{account.name}}' })
    expect(await subject()).toBe(`System: ${customer.name}`)
    await ross.post(`${ofReseller}/new_user`, { subject: 'Brand: {{account.name}}' })
    expect(await subject()).toBe(`Brand: ${customer.name}`)
    await ross.post(`${ofCustomer}/new_user`, { subject: 'Ours: {{user.first_name}} of {{account.realm}}' })
    expect(await subject()).toBe(`Ours: Zoe of ${customer.realm}`)
    expect(await ross.delete(`${ofCustomer}/new_user`)).toSucceed()
    expect(await subject()).toBe(`Brand: ${customer.name}`)
    expect(await world.operator.delete(`${ofReseller}/new_user`)).toSucceed()
    expect(await world.operator.delete(`${system}/new_user`)).toSucceed()
    expect(await subject()).toBe(`Your user in the account ${customer.name}`)
  })

  it('have text and HTML bodies that a reseller can replace', async () => {
    const { ross, ofReseller, customer } = await family()
    const body = '<div style="color: red">Ahoy {{user.first_name}} <b>{{user.username}}</b></div>'
    const answer = await ross.post(`${ofReseller}/new_user`, undefined, html(body))
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({
      account_overridden: true,
      templates: { 'text/html': { length: body.length } },
      subject: 'Your user in the account {{account.name}}',
    })
    expect(answer.data.templates).not.toHaveProperty(['text/plain'])
    expect((await ross.get(`${ofReseller}/new_user`, accept('text/html'))).text).toBe(body)
    expect(await ross.get(`${ofReseller}/new_user`, accept('text/plain'))).toFailWith(404, 'bad_identifier')
    expect(
      await ross.post(`${ofReseller}/new_user`, undefined, plain('Ahoy {{user.first_name}} & co')),
    ).toSucceed()
    const [mail] = await welcomeIn(customer, { first_name: '<script>"Zoe"' })
    expect(textOf(mail ?? '')).toContain('<div style="color: red">Ahoy &lt;script&gt;&quot;Zoe&quot; <b>')
    expect(textOf(mail ?? '')).toContain('Ahoy <script>"Zoe" & co')
  })

  it('keep their bodies when their settings change, and what is as above is not their own', async () => {
    const { ross, ofReseller } = await family()
    await ross.post(`${ofReseller}/alert`, undefined, plain('Mind {{alert.title}}'))
    await ross.post(`${ofReseller}/alert`, { enabled: false, subject: 'Mind' })
    const { data } = await ross.get(`${ofReseller}/alert`)
    expect(data).toMatchObject({
      enabled: false,
      subject: 'Mind',
      templates: { 'text/plain': { length: 20 } },
    })
    // A client that sends back what it read, with one field changed.
    await ross.post(`${ofReseller}/alert`, { ...data, subject: '{{alert.title}}', enabled: true })
    await world.operator.post(`${system}/alert`, { subject: 'System: {{alert.title}}' })
    expect((await ross.get(`${ofReseller}/alert`)).data).toMatchObject({
      subject: 'System: {{alert.title}}',
      enabled: true,
      templates: { 'text/plain': { length: 20 } },
    })
    await world.operator.delete(`${system}/alert`)
  })

  it('are not sent where they are switched off', async () => {
    const { ross, ofReseller, customer } = await family()
    await ross.post(`${ofReseller}/new_user`, { enabled: false })
    expect(await welcomeIn(customer)).toEqual([])
    await ross.post(`${ofReseller}/new_user`, { enabled: true })
    expect(await welcomeIn(customer)).toHaveLength(1)
  })

  it('go to the recipients of the rule', async () => {
    const { ross, ofReseller, customer } = await family()
    const [office, chief] = [freshAddress(), freshAddress()]
    await world.admin(customer, { email: chief, send_email_on_creation: false })
    const announced = async (address: string) => {
      const before = (await mailsTo(world.place.dataDir, address)).length
      expect(await ross.put(customer.path, { name: `Below ${customer.name} ${freshAddress()}` })).toSucceed()
      await world.deliverMail()
      return (await mailsTo(world.place.dataDir, address)).length - before
    }
    const specified = { type: 'specified', email_addresses: [office] }
    await ross.post(`${ofReseller}/new_account`, { to: specified })
    expect([await announced(office), await announced(chief)]).toEqual([1, 0])
    await ross.post(`${ofReseller}/new_account`, { to: { type: 'admins' } })
    expect([await announced(office), await announced(chief)]).toEqual([0, 1])
    expect(await ross.post(`${ofReseller}/new_account`, { to: { type: 'specified' } })).toBreak({
      'to.email_addresses': ['required'],
    })
  })

  it('tell the admins of an account of each account made below it, unless told not to', async () => {
    const { reseller, ross } = await family()
    const chief = freshAddress()
    await world.admin(reseller, { email: chief, send_email_on_creation: false })
    const name = `Branch of ${reseller.name}`
    expect(
      await ross.put(reseller.path, { name: `${name} 2` }, { query: { send_email_on_creation: false } }),
    ).toSucceed()
    expect(await ross.put(reseller.path, { name: `${name} 3`, send_email_on_creation: false })).toSucceed()
    expect(
      await ross.put(reseller.path, { name: `${name} 4` }, { envelope: { send_email_on_creation: false } }),
    ).toSucceed()
    const answer = await ross.put(reseller.path, { name })
    expect(answer).toSucceed()
    expect(answer.data).not.toHaveProperty('send_email_on_creation')
    await world.deliverMail()
    const [mail, ...others] = await mailsTo(world.place.dataDir, chief)
    expect(others).toEqual([])
    expect(mail).toContain(`Subject: New account ${name}\r\n`)
    expect(textOf(mail ?? '')).toContain(
      `The account ${name} was created as a sub-account of ${reseller.name}.`,
    )
  })

  it('are rejected if a personal notice would go to another recipient', async () => {
    const { ross, ofReseller } = await family()
    const elsewhere = { to: { type: 'specified', email_addresses: ['thief@evil.test'] } }
    for (const id of ['password_recovery', 'email_verification']) {
      const answer = await world.unchanged(() => ross.post(`${ofReseller}/${id}`, elsewhere))
      expect(answer).toBreak({ 'to.type': ['forbidden'] })
    }
    expect(await ross.post(`${ofReseller}/password_recovery`, { subject: 'Go to {{link}}' })).toBreak({
      subject: ['forbidden'],
    })
    expect(await ross.post(`${ofReseller}/email_verification`, { subject: '{{ code }}' })).toBreak({
      subject: ['forbidden'],
    })
  })

  it('know their names: others are refused', async () => {
    const { ross, ofReseller } = await family()
    const path = `${ofReseller}/low_balance`
    expect(await world.unchanged(() => ross.post(path, { subject: '{{link}} {{threshold}}' }))).toFailWith(
      400,
      'validation error',
      {
        subject: {
          macro: {
            message: 'The template uses unknown macros',
            cause: ['link'],
            target: ['account.id', 'account.name', 'account.realm', 'current_balance', 'threshold'],
          },
        },
      },
    )
    expect(await world.unchanged(() => ross.post(path, undefined, html('<p>{{wrong}}')))).toBreak({
      template: ['macro'],
    })
    expect(await ross.put(ofReseller, { id: 'low_balance', subject: '{{wrong}}' })).toBreak({
      subject: ['macro'],
    })
    expect(await ross.post(path, { subject: '', from: 'x', reply_to: 'y', enabled: 'maybe' })).toBreak({
      subject: ['minLength'],
      from: ['minLength', 'wrong_format'],
      reply_to: ['minLength', 'wrong_format'],
      enabled: ['type'],
    })
    expect(await ross.post(path, undefined, html('{{threshold}}'.repeat(1001)))).toBreak({
      template: ['maxItems'],
    })
    expect(await ross.post(path, undefined, html('x'.repeat(200_001)))).toFailWith(413, 'validation error')
    const image = { headers: { 'content-type': 'image/png' }, body: 'x' }
    expect(await ross.post(path, undefined, image)).toFailWith(415, 'unsupported_media_type')
  })

  it('come from an address that the account has proved to be its own, or else from the system', async () => {
    const { ross, ofReseller, customer } = await family()
    const answer = await world.unchanged(() =>
      ross.post(`${ofReseller}/new_user`, { from: 'boss@bank.test' }),
    )
    expect(answer).toBreak({ from: ['unverified'] })
    await world.operator.post(`${system}/new_user`, { from: 'welcome@master.test' })
    const [mail] = await welcomeIn(customer)
    expect(mail).toContain('From: welcome@master.test\r\n')
    await world.operator.delete(`${system}/new_user`)
    const [other] = await welcomeIn(customer)
    expect(other).toContain('From: crosspoint@localhost\r\n')
  })

  it('are shown before they are used', async () => {
    const { ross, ofReseller, reseller } = await family()
    const [me, you] = [freshAddress(), freshAddress()]
    const draft = {
      to: { email_addresses: [me, you] },
      subject: 'Draft: {{current_balance}} of {{account.name}}',
      html: Buffer.from('<p>{{threshold}} {{account.name}}</p>').toString('base64'),
      plain: '{{threshold}}',
      macros: { threshold: '<9>', current_balance: { friendly_name: 'echoed' } },
    }
    const answer = await world.unchanged(() => ross.post(`${ofReseller}/low_balance/preview`, draft))
    expect(answer).toSucceedWith(
      {
        to: [me, you],
        subject: `Draft: $3.20 of ${reseller.name}`,
        html: `<p>&lt;9&gt; ${reseller.name}</p>`,
        plain: '<9>',
      },
      202,
    )
    await world.deliverMail()
    for (const address of [me, you]) {
      const [mail, ...others] = await mailsTo(world.place.dataDir, address)
      expect(others).toEqual([])
      expect(mail).toContain(`Subject: Draft: $3.20 of ${reseller.name}\r\n`)
    }
    for (const id of noticeIds) {
      const whole = await ross.post(`${ofReseller}/${id}/preview`, { to: { email_addresses: [me] } })
      expect(whole).toSucceed(202)
      expect(JSON.stringify(whole.data)).not.toContain('{{')
    }
  })

  it('go to the caller if the preview names no recipient, and to a limited number of people', async () => {
    const { ross, reseller, ofReseller } = await family()
    const preview = `${ofReseller}/alert/preview`
    expect(await ross.post(preview, {})).toBreak({ 'to.email_addresses': ['required'] })
    const email = freshAddress()
    const chief = await world.admin(reseller, { email, send_email_on_creation: false })
    expect(await chief.post(preview, {})).toSucceed(202)
    await world.deliverMail()
    expect(await mailsTo(world.place.dataDir, email)).toHaveLength(1)
    const many = Array.from({ length: 6 }, freshAddress)
    expect(await ross.post(preview, { to: { email_addresses: many } })).toBreak({
      'to.email_addresses': ['maxItems'],
    })
    expect(await ross.post(preview, { plain: '{{x}}', html: '{{y}}', from: 'boss@bank.test' })).toBreak({
      plain: ['macro'],
      html: ['macro'],
      from: ['unverified'],
    })
  })

  it('are the business of resellers: customers read, the system is the operator’s', async () => {
    const { ada, ross, reseller, customer, ofCustomer, ofReseller } = await family()
    const uli = await world.user(customer)
    const una = await world.user(reseller)
    expect(await ada.get(ofCustomer)).toSucceed()
    expect(await uli.get(ofCustomer)).toFailWith(403, 'forbidden')
    expect(await ada.get(ofReseller)).toFailWith(403, 'forbidden')
    const refused = await world.unchanged(async () => [
      await ada.put(ofCustomer, { id: 'new_user' }),
      await ada.post(`${ofCustomer}/new_user`, { subject: 'x' }),
      await ada.post(`${ofCustomer}/new_user`, undefined, html('x')),
      await ada.post(`${ofCustomer}/new_user/preview`, { to: { email_addresses: ['a@b.test'] } }),
      await ada.delete(`${ofCustomer}/new_user`),
      await ada.delete(ofCustomer),
      await una.post(`${ofReseller}/new_user`, { subject: 'x' }),
      await ross.get(system),
      await ross.get(`${system}/new_user`),
      await ross.post(`${system}/new_user`, { subject: 'x' }),
      await ross.get(`${system}/smtplog`),
    ])
    for (const answer of refused) expect(answer).toFailWith(403, 'forbidden')
  })

  it('are all as above again after DELETE', async () => {
    const { ross, ofReseller } = await family()
    await ross.post(`${ofReseller}/alert`, { enabled: false })
    await ross.post(`${ofReseller}/new_user`, { enabled: false })
    expect(await ross.delete(ofReseller)).toSucceedWith(['alert', 'new_user'])
    expect(await ross.delete(ofReseller)).toSucceedWith([])
    const { data } = await ross.get(ofReseller)
    expect(data.every(({ enabled }: { enabled: boolean }) => enabled)).toBe(true)
    const none = await world.unchanged(() => ross.delete(`${ofReseller}/alert`))
    expect(none).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: 'alert' })
  })

  it('leave a log of each attempt to deliver them, which holds no secret', async () => {
    const { ada, customer, ofCustomer } = await family()
    const email = freshAddress()
    const zoe = await world.user(customer, { username: 'zoe', email })
    await world.deliverMail()
    await world.anonymous.put('/v2/user_auth/recovery', {
      username: 'zoe',
      account_realm: customer.realm,
      ui_url: 'https://localhost/',
    })
    await world.deliverMail()
    expect(zoe.username).toBe('zoe')
    const { data: rows } = await ada.get(`${ofCustomer}/smtplog`)
    expect(rows).toEqual(
      ['password_recovery', 'new_user'].map((notice) => ({
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        template_id: notice,
        to: email,
        from: 'crosspoint@localhost',
        subject: expect.any(String),
        outcome: 'delivered',
        attempt: 1,
        created: expect.any(Number),
      })),
    )
    const answer = await ada.get(`${ofCustomer}/smtplog/${rows[0].id}`)
    expect(answer).toSucceedWith({
      ...rows[0],
      message_id: expect.stringMatching(/^[0-9a-f]{32}@/),
      reply: expect.stringMatching(/\.eml$/),
    })
    const [, mail] = await mailsTo(world.place.dataDir, email)
    const resetId = /recovery=([0-9a-f]+)/.exec(textOf(mail ?? ''))?.[1] ?? 'none'
    expect(resetId).toHaveLength(137)
    const tables = await Promise.all(
      ['work', 'mail_attempts', 'records', 'audit_log'].map((name) =>
        world.server.store.all(`SELECT * FROM ${name}`),
      ),
    )
    expect(JSON.stringify(tables)).not.toContain(resetId)
  })

  it('list their log in pages and within a window', async () => {
    const { ada, customer, ofCustomer } = await family()
    for (let count = 0; count < 5; count += 1) await welcomeIn(customer)
    const log = `${ofCustomer}/smtplog`
    const seen: string[] = []
    let key: string | undefined
    do {
      const { body }: Awaited<ReturnType<typeof ada.get>> = await ada.get(log, {
        query: { page_size: 2, ...(key ? { start_key: key } : {}) },
      })
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      key = body.next_start_key
    } while (key)
    expect(new Set(seen).size).toBe(5)
    expect(seen).toEqual(seen.toSorted().toReversed())
    const ascending = (await ada.get(log, { query: { ascending: true } })).data
    expect(ascending.map(({ id }: { id: string }) => id)).toEqual(seen.toReversed())
    const [{ created }] = ascending
    const within = async (from: number, to: number) =>
      (await ada.get(log, { query: { created_from: from, created_to: to } })).data.length
    expect(await within(created, created)).toBe(5)
    expect(await within(created - 100, created - 1)).toBe(0)
    expect(await within(created + 1, created + 100)).toBe(0)
    const filtered = await ada.get(log, { query: { filter_template_id: 'alert' } })
    expect(filtered).toSucceedWith([])
    expect(await ada.get(`${log}/${'0'.repeat(32)}`)).toFailWith(404, 'bad_identifier')
    expect(await ada.get(`${log}/nonsense`)).toFailWith(404, 'bad_identifier')
  })

  it('keep the log of an account from other accounts', async () => {
    const mine = await family()
    const other = await family()
    await welcomeIn(other.customer)
    const [row] = (await other.ada.get(`${other.ofCustomer}/smtplog`)).data
    expect(await other.ada.get(`${other.ofCustomer}/smtplog/${row.id}`)).toSucceed()
    expect(await mine.ada.get(`${mine.ofCustomer}/smtplog/${row.id}`)).toFailWith(404, 'bad_identifier')
    expect(await mine.ada.get(`${other.ofCustomer}/smtplog`)).toFailWith(403, 'forbidden')
    expect(await mine.ada.get(`${mine.ofCustomer}/smtplog`)).toSucceedWith([])
  })
})
