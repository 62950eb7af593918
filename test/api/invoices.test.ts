// Months become documents: numbered, itemised, never changed; and the sum of them is the ledger.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

describeEngines('invoices', (engine) => {
  const world = useWorld(engine)
  const runJobs = async (...names: string[]) => {
    for (const name of names) await world.server.scheduler.runNow(name)
  }
  const clientOf = async ({ account, id }: Person) => world.clientWithToken(await world.tokenOf(account, id))
  const ross = () => clientOf(world.ross)
  const operator = () => clientOf(world.operator)

  /** Mails that wait too long expire, so all are sent before the next month begins. */
  const nextMonth = async () => {
    await runJobs('invoice_mail', 'mail')
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    return next
  }

  const taxes = [{ name: 'VAT', rate: 20, tax_id: 'vat' }]
  const plan = {
    name: 'Phones',
    plan: {
      devices: {
        sip_device: {
          name: 'Phone',
          rate: 10,
          activation_charge: 5,
          prorate: { additions: true, removals: true },
          taxes,
        },
      },
    },
  }

  let made = 0

  /** The clock advances by months, so tokens expire: callers get new ones. */
  const newAccount = async (fields: Json = {}): Promise<TestAccount> => {
    const name = `Payer ${++made} ${engine}`
    const { data } = await (await operator()).put(world.reseller.path, { name, ...fields })
    return { id: data.id, name: data.name, realm: data.realm, path: `/v2/accounts/${data.id}` }
  }

  const adminOf = async (account: TestAccount, fields: Json = {}) => {
    const user = { first_name: 'A', last_name: 'B', priv_level: 'admin', ...fields }
    const { data } = await (await operator()).put(`${account.path}/users`, user)
    return world.clientWithToken(await world.tokenOf(account, data.id))
  }

  const customer = async (fields: Json = {}, sold: Json = plan) => {
    const account = await newAccount(fields)
    const { data } = await (await ross()).put(`${world.reseller.path}/service_plans`, sold)
    await (await ross()).post(`${account.path}/services`, { add: [data.id] })
    return account
  }

  const phone = async ({ path }: TestAccount, name = 'Phone') =>
    (await (await ross()).put(`${path}/devices`, { name }, { query: { accept_charges: true } })).data
      .id as string

  const book = async (
    { path }: TestAccount,
    way: 'credit' | 'debit',
    amount: number,
    service = 'payments',
  ) => {
    const source = { service, id: `${way} ${amount} ${world.clock.now()}` }
    const usage = { type: 'x', quantity: 1, unit: 'x' }
    expect((await (await ross()).put(`${path}/ledgers/${way}`, { source, usage, amount })).status).toBe(201)
  }

  const invoicesOf = async ({ path }: TestAccount, query: Record<string, string> = {}) =>
    (await (await ross()).get(`${path}/invoices`, { query })).data as Json[]
  const read = async ({ path }: TestAccount, id: unknown) =>
    (await (await ross()).get(`${path}/invoices/${id}`)).data
  const balance = async ({ path }: TestAccount) =>
    (await (await ross()).get(`${path}/ledgers/total`)).data.amount

  /** The amounts in the ledger that invoices cover, and the amounts of the documents. */
  const books = async ({ id }: TestAccount) => {
    const sum = async (sql: string) =>
      Number((await world.server.store.all<{ sum: number | null }>(sql, [id]))[0]?.sum ?? 0)
    return {
      ledger: await sum(
        `SELECT sum(amount) AS sum FROM ledger_entries WHERE account_id = $1
          AND source_service IN ('services', 'prorations', 'taxes', 'per-minute-voip')`,
      ),
      documents: await sum(
        `SELECT sum(amount) AS sum FROM (
          SELECT -total AS amount FROM invoices WHERE account_id = $1
          UNION ALL SELECT total FROM credit_notes WHERE account_id = $1
          UNION ALL SELECT i.total - s.credited FROM invoices i JOIN invoice_states s
            ON s.account_id = i.account_id AND s.id = i.id WHERE s.status = 'void' AND i.account_id = $1) AS documents`,
      ),
    }
  }

  it('hold what the month costs, what was charged in the month before, and its taxes', async () => {
    await runJobs('monthly_bills')
    const account = await customer({ org: 'Acme Limited' })
    await book(account, 'credit', 1000)
    await phone(account)
    const draft = (await invoicesOf(account, { status: 'draft' }))[0] as Json
    expect(draft).toMatchObject({ status: 'draft', currency: 'USD' })
    expect(draft.number).toBeUndefined()
    expect(await invoicesOf(account)).toEqual([])
    const whole = await read(account, draft.id)
    const made = world.clock.now()
    const first = await nextMonth()
    await runJobs('monthly_bills', 'monthly_bills')
    const [row, ...others] = await invoicesOf(account)
    expect(others).toEqual([])
    const end = Date.UTC(new Date(first).getUTCFullYear(), new Date(first).getUTCMonth() + 1, 1)
    const daysInMonth = new Date(first - 1).getUTCDate()
    const days = daysInMonth - new Date(made).getUTCDate() + 1
    const prorated = Math.round((100_000 * days) / daysInMonth) / 10_000
    const vat = Math.round((10 + 5 + prorated) * 0.2 * 10_000) / 10_000
    const total = Math.round((15 + prorated + vat) * 10_000) / 10_000
    const year = new Date(first).getUTCFullYear()
    expect(row).toEqual({
      id: draft.id,
      number: expect.stringMatching(new RegExp(`^${year}-\\d{6}$`)),
      status: 'paid',
      period: { from: gregorian(first), to: gregorian(end) - 1 },
      total,
      currency: 'USD',
      issued: gregorian(first),
      due: gregorian(first) + 14 * 86_400,
    })
    const invoice = await read(account, row?.id)
    const period = { from: gregorian(made), to: gregorian(made) }
    expect(invoice).toMatchObject({
      account: { id: account.id, name: 'Acme Limited' },
      issuer: { id: world.reseller.id, name: 'Reseller' },
      items: [
        { source: 'services', description: 'Phone', quantity: 1, rate: 10, amount: 10 },
        { source: 'services', description: 'Activation of 1 Phone', amount: 5, period },
        {
          source: 'prorations',
          description: `1 Phone for ${days} of ${daysInMonth} days`,
          amount: prorated,
          period,
        },
      ],
      amount_due: 0,
    })
    expect(invoice.taxes).toHaveLength(1)
    expect(invoice.taxes[0]).toMatchObject({ name: 'VAT', rate: 20, inclusive: false })
    expect(invoice.events.map(({ event }: Json) => event)).toEqual(expect.arrayContaining(['issued', 'paid']))
    // The draft was the same, but for its number and what was not known yet.
    const withoutTimes = ({ items, taxes: rows, total: sum }: Json) => ({ items, rows, sum })
    expect(withoutTimes(whole)).toEqual(withoutTimes(invoice))
    const { ledger, documents } = await books(account)
    expect(documents).toBe(ledger)
  })

  it('are numbered without gaps for each reseller, also when many are made at once', async () => {
    await runJobs('monthly_bills')
    const accounts = await Promise.all(Array.from({ length: 12 }, () => customer()))
    for (const account of accounts) await phone(account)
    await nextMonth()
    await runJobs('monthly_bills')
    const rows = await world.server.store.all<{ series: string; value: number }>(
      'SELECT series, number_value AS value FROM invoices WHERE issuer_id = $1 ORDER BY series, number_value',
      [world.reseller.id],
    )
    for (const [, numbers] of Map.groupBy(rows, ({ series }) => series))
      expect(numbers.map(({ value }) => value)).toEqual(numbers.map((_, index) => index + 1))
    expect(rows.length).toBeGreaterThanOrEqual(12)
  })

  it('are paid when there is money for them', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await phone(account)
    await nextMonth()
    await runJobs('monthly_bills')
    const [row] = await invoicesOf(account, { status: 'open' })
    expect(row?.status).toBe('open')
    const admin = await adminOf(account)
    expect(await world.unchanged(() => admin.post(`${account.path}/invoices/${row?.id}/pay`))).toFailWith(
      402,
      'not_enough_credit',
    )
    await book(account, 'credit', 100)
    await runJobs('dunning')
    expect((await read(account, row?.id)).status).toBe('paid')
    const again = await world.unchanged(() => admin.post(`${account.path}/invoices/${row?.id}/pay`))
    expect(again.status).toBe(400)
  })

  it('can be voided as a whole as long as no payment was made', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await phone(account)
    await nextMonth()
    // Nothing else is due then, and the books stand still.
    await runJobs('monthly_bills', 'invoice_mail', 'dunning')
    const [row] = await invoicesOf(account)
    const before = await balance(account)
    const path = `${account.path}/invoices/${row?.id}/void`
    const admin = await adminOf(account)
    expect(await world.unchanged(() => admin.post(path))).toFailWith(403, 'forbidden')
    const answer = await (await ross()).post(path)
    expect(answer.data).toMatchObject({ status: 'void', number: row?.number, total: row?.total })
    expect(await balance(account)).toBeCloseTo(before + Number(row?.total), 4)
    const again = await world.unchanged(async () => (await ross()).post(path))
    expect(again.status).toBe(400)
    await nextMonth()
    await runJobs('monthly_bills')
    const { ledger, documents } = await books(account)
    expect(documents).toBe(ledger)
  })

  it('are taken back for no more than what was removed within their month has left of them, then or later', async () => {
    await runJobs('monthly_bills')
    const removed = async () => {
      const account = await customer()
      return { account, phones: [await phone(account), await phone(account)] }
    }
    const [atOnce, later] = [await removed(), await removed()]
    const cancel = async ({ path }: TestAccount, id: unknown) =>
      expect((await (await ross()).post(`${path}/invoices/${id}/void`)).status).toBe(200)
    const remove = async ({ path }: TestAccount, id: string | undefined) => {
      const agreed = { query: { accept_charges: true } }
      expect((await (await ross()).delete(`${path}/devices/${id}`, undefined, agreed)).status).toBe(200)
    }
    await nextMonth()
    await runJobs('monthly_bills', 'invoice_mail', 'dunning')
    world.clock.advance({ hours: 11 * 24 })
    for (const { account, phones } of [atOnce, later]) {
      const billed = await balance(account)
      await remove(account, phones[0])
      expect(await balance(account)).toBeGreaterThan(billed)
    }
    await cancel(atOnce.account, (await invoicesOf(atOnce.account))[0]?.id)
    expect(await balance(atOnce.account)).toBeCloseTo(0, 4)
    // Everything that was charged for the other one is refunded.
    await remove(atOnce.account, atOnce.phones[1])
    expect(await balance(atOnce.account)).toBeCloseTo(0, 4)
    const [first] = await invoicesOf(later.account)
    await nextMonth()
    await runJobs('monthly_bills', 'invoice_mail', 'dunning')
    const second = (await invoicesOf(later.account)).find(({ id }) => id !== first?.id)
    const back = (await read(later.account, second?.id)).items.find(({ amount }: Json) => Number(amount) < 0)
    const before = await balance(later.account)
    await cancel(later.account, first?.id)
    const gained = Number(first?.total) + Number(back.amount) * 1.2
    expect((await balance(later.account)) - before).toBeCloseTo(gained, 3)
    for (const { account } of [atOnce, later]) {
      await nextMonth()
      await runJobs('monthly_bills')
      const { ledger, documents } = await books(account)
      expect(documents).toBe(ledger)
    }
  })

  it('are given back in parts, never more than they come to', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await book(account, 'credit', 100)
    await phone(account)
    await nextMonth()
    // Nothing else is due then, and the books stand still.
    await runJobs('monthly_bills', 'invoice_mail', 'dunning')
    const [row] = await invoicesOf(account)
    const path = `${account.path}/invoices/${row?.id}/credit_notes`
    const note = await (await ross()).put(path, { amount: 6, reason: 'It was down' })
    expect(note.status).toBe(201)
    expect(note.data).toEqual({
      id: expect.any(String),
      number: expect.stringMatching(/^\d{4}-\d{6}$/),
      invoice_id: row?.id,
      issued: gregorian(world.clock.now()),
      account: { id: account.id, name: account.name },
      issuer: { id: world.reseller.id, name: 'Reseller' },
      reason: 'It was down',
      total: 6,
      taxes: 1,
      currency: 'USD',
      ledger_ids: [expect.any(String), expect.any(String)],
    })
    expect((await (await ross()).get(`${path}/${note.data.id}`)).data).toEqual(note.data)
    const tooMuch = await world.unchanged(async () =>
      (await ross()).put(path, { amount: row?.total as number }),
    )
    expect(tooMuch.status).toBe(400)
    const rest = await (await ross()).put(path, {})
    expect(rest.data.total).toBeCloseTo(Number(row?.total) - 6, 4)
    expect((await (await ross()).put(path, {})).status).toBe(400)
    expect((await (await ross()).get(path)).data).toHaveLength(2)
    const { ledger, documents } = await books(account)
    expect(documents).toBe(ledger)
    expect(await balance(account)).toBe(100)
  })

  it('that were given back leave nothing to be given back for what is removed then', async () => {
    await runJobs('monthly_bills')
    const phones = { sip_device: { ...plan.plan.devices.sip_device, as: 'telephone', taxes: [] } }
    const renamed = { name: 'Telephones', plan: { devices: phones } }
    const remove = async ({ path }: TestAccount, id: string) =>
      expect(
        (await (await ross()).delete(`${path}/devices/${id}`, undefined, { query: { accept_charges: true } }))
          .status,
      ).toBe(200)
    const billed = async () => {
      const account = await customer({}, renamed)
      const devices = [await phone(account), await phone(account)] as const
      return { account, devices }
    }
    const [taken, credited, halved] = [await billed(), await billed(), await billed()]
    await nextMonth()
    await runJobs('monthly_bills')
    const idOf = async (account: TestAccount) => (await invoicesOf(account))[0]?.id
    const who = await ross()
    const credit = async ({ account }: typeof taken, order: Json) =>
      expect(
        (await who.put(`${account.path}/invoices/${await idOf(account)}/credit_notes`, order)).status,
      ).toBe(201)
    await who.post(`${taken.account.path}/invoices/${await idOf(taken.account)}/void`)
    await credit(credited, {})
    const [whole] = await invoicesOf(halved.account)
    await credit(halved, { amount: Number(whole?.total) / 2 })
    const gains = []
    for (const { account, devices } of [taken, credited, halved]) {
      const before = await balance(account)
      for (const id of devices) await remove(account, id)
      gains.push(Math.round(((await balance(account)) - before) * 10_000) / 10_000)
    }
    // Two phones cost ten each, and the credit note has already given back a half.
    expect(gains).toEqual([0, 0, 10])
  })

  it('are read as CSV and PDF, one and all', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await phone(account)
    await nextMonth()
    await runJobs('monthly_bills')
    const [row] = await invoicesOf(account)
    const who = await ross()
    const accept = (type: string) => ({ headers: { accept: type } })
    const all = await who.get(`${account.path}/invoices`, accept('text/csv'))
    expect(all.text.split('\r\n')[0]).toContain('number')
    expect(all.text).toContain(String(row?.number))
    const csv = await who.get(`${account.path}/invoices/${row?.id}`, accept('text/csv'))
    const [head, first] = csv.text.split('\r\n')
    expect(head).toBe(
      'number,status,kind,description,category,item,quantity,unit,rate,amount,currency,from,to',
    )
    expect(first).toContain(`${row?.number},open,services,Phone,devices,sip_device,1`)
    const pdf = await who.get(`${account.path}/invoices/${row?.id}`, accept('application/pdf'))
    expect(pdf.headers['content-type']).toBe('application/pdf')
    expect(pdf.text.startsWith('%PDF-1.')).toBe(true)
    const draft = (await invoicesOf(account, { status: 'draft' }))[0]
    expect((await who.get(`${account.path}/invoices/${draft?.id}`, accept('application/pdf'))).status).toBe(
      200,
    )
  })

  it('are mailed to the admins of the account, as PDF', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await adminOf(account, { email: 'payer@acme.test' })
    await world.deliverMail()
    await phone(account)
    await nextMonth()
    await runJobs('monthly_bills', 'invoice_mail')
    await world.deliverMail()
    const [row] = await invoicesOf(account)
    const mail = (await mailsTo(world.config.dataDir, 'payer@acme.test')).find((one) =>
      one.includes('Subject: Invoice'),
    )
    expect(mail).toContain(`Subject: Invoice ${row?.number} of ${account.name}: ${row?.total} USD`)
    expect(mail).toContain('From: Reseller <crosspoint@localhost>')
    expect(mail).toContain(`filename=invoice-${row?.number}.pdf`)
    expect(mail).toContain(Buffer.from('%PDF-1.3').toString('base64').slice(0, 10))
    const events = (await read(account, row?.id)).events as Json[]
    expect(events.map(({ event }) => event)).toContain('mailed')
  })

  it('name the company of their issuer, which is the sender of their mail without a verified address', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await adminOf(account, { email: 'payer@branded.test' })
    await phone(account)
    const brand = `${world.reseller.path}/whitelabel`
    expect(await world.ross.put(brand, { company_name: 'Reseller & Co' })).toSucceed()
    await nextMonth()
    await runJobs('monthly_bills', 'invoice_mail')
    await world.deliverMail()
    expect(await world.ross.delete(brand)).toSucceed()
    const [row] = await invoicesOf(account)
    expect((await read(account, row?.id)).issuer).toEqual({ id: world.reseller.id, name: 'Reseller & Co' })
    const mails = await mailsTo(world.config.dataDir, 'payer@branded.test')
    expect(mails.find((one) => one.includes('Subject: Invoice'))).toContain(
      'From: "Reseller & Co" <crosspoint@localhost>',
    )
  })

  it('come before what is added on the first, while bills are being made', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await phone(account, 'One')
    const first = await nextMonth()
    await phone(account, 'Two')
    await runJobs('monthly_bills')
    const [row] = await invoicesOf(account)
    const { items } = await read(account, row?.id)
    expect(items[0]).toMatchObject({ quantity: 1, amount: 10 })
    // The other phone pays separately for its whole month.
    const entries = (await (await ross()).get(`${account.path}/ledgers/prorations`)).data as Json[]
    expect(entries[0]).toMatchObject({ amount: -10, period: { start: gregorian(first) } })
  })

  it('contain no month of charges for an account that had nothing when the month began', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    const first = await nextMonth()
    await phone(account, 'The very first')
    const paid = await balance(account)
    await runJobs('monthly_bills')
    expect(await balance(account)).toBe(paid)
    expect(await invoicesOf(account)).toEqual([])
    // Nothing was due, and no entry is listed.
    const window = { created_from: String(gregorian(first)) }
    const monthly = await (await ross()).get(`${account.path}/transactions/monthly_recurring`, {
      query: window,
    })
    expect(monthly.data).toEqual([])
    // From the next month the account pays like every other.
    await nextMonth()
    await runJobs('monthly_bills', 'monthly_bills')
    expect(await balance(account)).toBe(paid - 12)
    expect((await books(account)).documents).toBe((await books(account)).ledger)
  })

  it('of what was priced after the month began give nothing back', async () => {
    await runJobs('monthly_bills')
    const account = await newAccount()
    const id = await phone(account)
    const { data } = await (await ross()).put(`${world.reseller.path}/service_plans`, plan)
    await (await ross()).post(`${account.path}/services`, { add: [data.id] })
    const remove = async (device: string) =>
      (await ross()).delete(`${account.path}/devices/${device}`, undefined, {
        query: { accept_charges: true },
      })
    await remove(id)
    expect(await balance(account)).toBe(0)
    // A removal refunds the amount that was paid, and no more.
    const second = await phone(account)
    const paid = await balance(account)
    await remove(second)
    expect(await balance(account)).toBe(-6)
    expect(paid).toBeLessThan(-6)
  })

  it('are visible only to callers that can see the account', async () => {
    await runJobs('monthly_bills')
    const account = await customer()
    await phone(account)
    await nextMonth()
    await runJobs('monthly_bills')
    const [row] = await invoicesOf(account)
    const rex: Client = await clientOf(world.rex)
    for (const place of ['', `/${row?.id}`, `/${row?.id}/credit_notes`])
      expect(await rex.get(`${account.path}/invoices${place}`)).toFailWith(403, 'forbidden')
    expect(await rex.get(`${world.rival.path}/invoices/${row?.id}`)).toFailWith(404, 'bad_identifier')
  })
})
