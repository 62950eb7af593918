// Money in the console.
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { choose, expectForEverybody, goTo, pressOn, typeInto } from '../support/servers/browser.ts'
import { type StripeServer, startStripe } from '../support/servers/stripe-server.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

let bookkeeper: BookkeeperServer
let stripe: StripeServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
  stripe = await startStripe()
})
afterEach(() => bookkeeper.reset())
afterAll(async () => {
  await bookkeeper.close()
  await stripe.close()
})

const prices = {
  devices: {
    sip_device: {
      name: 'Seat',
      rate: 4,
      activation_charge: 3,
      discounts: { single: { rate: 1 }, cumulative: { maximum: 5, rate: 0.5 } },
      taxes: [{ name: 'VAT', rate: 20 }],
    },
  },
}

describeAnyEngine('money in the console', (engine) => {
  const { world, open, expectForEverybody, expectScreensForEverybody } = useConsole(
    engine,
    async ({ configure }) => {
      await configure('services.http_sync', bookkeeper.settings)
      await configure('services.stripe', stripe.settings)
    },
  )

  const planOf = async (name: string, plan: Json = prices): Promise<string> =>
    (await world.ross.put(`${world.reseller.path}/service_plans`, { name, plan })).data.id

  const total = async ({ path }: TestAccount) => (await world.ross.get(`${path}/ledgers/total`)).data.amount

  const balanceOn = (page: Page) => page.getByRole('region', { name: 'Balance' })

  it('is added where a payment can be charged, and elsewhere a message names who can add it', async () => {
    const { page } = await open(world.ada, 'money')
    const add = async (amount: string) => {
      await typeInto(page, page.getByRole('textbox', { name: 'Amount' }), amount)
      await page.keyboard.press('Enter')
    }
    await world.unchanged(async () => {
      await add('5')
      await page.getByText('Only its reseller can add credit').waitFor()
    })
    await world.ross.post(`${world.acme.path}/services`, { bookkeeper: { type: 'http' } })
    bookkeeper.state.manner = 'declines'
    await add('6')
    await page.getByText(/Nothing was charged:.*Not enough money/).waitFor()
    expect(await total(world.acme)).toBe(0)
    bookkeeper.state.manner = 'deaf'
    await add('7')
    await page.getByText('$7.00 is being processed', { exact: false }).waitFor()
    bookkeeper.state.manner = 'works'
    await add('8')
    await page.getByText('$8.00 charged and credited.').waitFor()
    await balanceOn(page).getByText('$8.00').waitFor()
    // The server carries out the request, but a proxy in front of it responds with an error.
    await page.route(
      '**/services/topup',
      async (route) => {
        await route.fetch()
        await route.fulfill({ status: 500, body: '' })
      },
      { times: 1 },
    )
    await add('9')
    await page.getByRole('alert').filter({ hasText: 'Server error' }).waitFor()
    // Enter has no effect while the dialog is open.
    await page.getByRole('button', { name: 'Top up', exact: true, disabled: false }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('$9.00 charged and credited.').waitFor()
    expect(await total(world.acme)).toBe(17)
    await pressOn(page, page.getByRole('link', { name: 'Transactions' }))
    await page.getByRole('row', { name: /Failed/ }).waitFor()
    await page.getByRole('row', { name: /Pending/ }).waitFor()
    await page
      .getByRole('row', { name: /Completed/ })
      .first()
      .waitFor()
    await expectForEverybody(page)
    await world.ross.post(`${world.acme.path}/services`, { bookkeeper: { type: 'default' } })
  })

  inFullRun(() => {
    it('of a balance is shown as it moves, and entries are saved as CSV', async () => {
      const { page } = await open(world.ross, 'money', { account: world.rival })
      await balanceOn(page).getByText('$0.00').waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      await world.credit(world.rival, 12.5)
      await balanceOn(page).getByText('$12.50').waitFor()
      await typeInto(page, page.getByRole('textbox', { name: 'Reference' }), 'transfer 17')
      await typeInto(page, page.getByRole('textbox', { name: 'Amount', exact: true }), '30')
      await page.keyboard.press('Enter')
      await balanceOn(page).getByText('$42.50').waitFor()
      await goTo(page, 'money/ledgers/payments')
      await page.getByRole('row', { name: /transfer 17/ }).waitFor()
      const coming = page.waitForEvent('download')
      await pressOn(page, page.getByRole('button', { name: 'Save as CSV' }))
      const download = await coming
      expect(download.suggestedFilename()).toBe('Ledger.csv')
      expect(await readFile(await download.path(), 'utf8')).toContain('transfer 17')
    })
  })

  it('for plans is quoted before they are assigned, and each amount says why', async () => {
    const account = await world.account(world.reseller)
    await world.device(account)
    await world.device(account)
    const id = await planOf('Seats')
    const { page } = await open(world.ross, 'money/plans', { account })
    await expectScreensForEverybody(page, [
      'money',
      'money/ledgers/services',
      'money/invoices',
      'money/cards',
      'money/plans',
    ])
    await page.getByText('No plan assigned', { exact: false }).waitFor()
    await pressOn(page, page.getByRole('tab', { name: 'Resulting price' }), 'ArrowRight')
    await choose(page, page.getByRole('combobox', { name: 'Plan' }), 'Seats', 'Seats')
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    const dialog = page.getByRole('dialog', { name: 'Assign Seats' })
    await dialog.getByText('Now $0.00 monthly, then $7.20.').waitFor()
    await pressOn(page, dialog.getByRole('button', { name: 'Price details of Seat' }))
    await dialog.getByText('2 × $4.00 = $8.00').waitFor()
    await dialog.getByText('-$1.00 discount, once').waitFor()
    await dialog.getByText('$0.50 discount for each of 2: -$1.00').waitFor()
    await dialog.getByText('VAT 20 % on $6.00 adds $1.20').first().waitFor()
    await expectForEverybody(page)
    const plans = async () => Object.keys((await world.ross.get(`${account.path}/services`)).data.plans)
    expect(await plans()).toEqual([])
    await pressOn(page, dialog.getByRole('button', { name: 'Assign' }))
    await page.getByRole('cell', { name: 'Seats', exact: true }).waitFor()
    expect(await plans()).toEqual([id])
    await pressOn(page, page.getByRole('button', { name: 'Remove: Seats' }))
    const leaving = page.getByRole('dialog', { name: 'Remove Seats' })
    await pressOn(page, leaving.getByRole('button', { name: 'Remove' }))
    await page.getByRole('cell', { name: 'Seats', exact: true }).waitFor({ state: 'detached' })
    expect(await plans()).toEqual([])
  })

  inFullRun(() => {
    it('that plans ask for is written as a form, by keyboard alone', async () => {
      const { page } = await open(world.ross, 'money/service-plans')
      await pressOn(page, page.getByRole('link', { name: 'New plan' }).first())
      await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Phones')
      await typeInto(page, page.getByRole('combobox', { name: 'Category' }), 'devices')
      await page.keyboard.press('Escape')
      await pressOn(page, page.getByRole('button', { name: 'Add a price' }))
      await typeInto(page, page.getByRole('textbox', { name: 'Monthly price per unit' }), '4.5')
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByRole('heading', { level: 1, name: 'Phones' }).waitFor()
      await typeInto(page, page.getByRole('textbox', { name: 'Activation fee per unit' }), '20')
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved', { exact: true }).waitFor()
      await expectForEverybody(page)
      const id = new URL(page.url()).pathname.split('/').at(-1)
      const { data } = await world.ross.get(`${world.reseller.path}/service_plans/${id}`)
      expect(data).toMatchObject({
        name: 'Phones',
        plan: { devices: { _all: { rate: 4.5, activation_charge: 20 } } },
      })
    })
  })

  inFullRun(() => {
    it('is taken from cards: kept, chosen and removed, where there is a gateway', async () => {
      const account = await world.account(world.reseller)
      const admin = await world.admin(account)
      const { page } = await open(admin, 'money/cards')
      await page.getByText('No cards yet.').waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Add a card' }))
      await page.getByText('No payment gateway configured').waitFor()
      await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'stripe' } })
      for (const method of ['pm_card_visa_1', 'pm_card_visa_2']) {
        await pressOn(page, page.getByRole('button', { name: 'Add a card' }))
        await typeInto(page, page.getByRole('textbox', { name: 'Payment method ID' }), method)
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Add a card' }).waitFor()
      }
      await page.getByRole('row').nth(2).waitFor()
      await expectForEverybody(page)
      const tokens = async (): Promise<Json[]> =>
        (await admin.get(`${account.path}/services/payment_tokens`)).data
      await pressOn(page, page.getByRole('button', { name: /^Use / }))
      await page.getByText('Saved', { exact: true }).waitFor()
      expect((await tokens()).find((token) => token.default)?.id).toBe('pm_card_visa_1')
      await pressOn(page, page.getByRole('button', { name: /^Remove / }).first())
      const dialog = page.getByRole('dialog', { name: 'Remove this card?' })
      await pressOn(page, dialog.getByRole('button', { name: 'Remove' }))
      await dialog.waitFor({ state: 'detached' })
      expect(await tokens()).toHaveLength(1)
    })
  })
})

describeAnyEngine('invoices in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  /** A customer with a plan, and a phone that it charges for. */
  const billed = async (name: string) => {
    const { reseller } = world
    // The console renews a token by its age.
    const ross = await world.again(world.ross)
    const { data } = await ross.put(reseller.path, { name })
    const account: TestAccount = { ...data, path: `/v2/accounts/${data.id}` }
    const made = await ross.put(`${reseller.path}/service_plans`, { name: 'Seats', plan: prices })
    await ross.post(`${account.path}/services`, { add: [made.data.id] })
    expect(await ross.put(`${account.path}/devices`, { name: 'Seat' })).toSucceed()
    return { account, ross }
  }

  inFullRun(() => {
    it('are read as drafts', async () => {
      const { account, ross } = await billed('Drafted')
      const { page } = await open(ross, 'money/invoices', { account })
      await page.getByText('No invoices yet', { exact: false }).waitFor()
      await choose(page, page.getByRole('combobox', { name: 'Status' }), 'Draft')
      await pressOn(page, page.getByRole('link', { name: 'Draft', exact: true }))
      await page.getByRole('row', { name: /Activation of 1 Seat/ }).waitFor()
      await expectForEverybody(page)
    })
  })

  it('are saved, paid from the balance, and given back', async () => {
    const { account, ross } = await billed('Billed')
    // Bills are made on the first of a month.
    await world.server.scheduler.runNow('monthly_bills')
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    await world.server.scheduler.runNow('monthly_bills')
    const later = await world.again(ross)
    const read = async () => (await later.get(`${account.path}/invoices`)).data
    expect(await read()).toMatchObject([{ status: 'open' }])

    const { page } = await open(later, 'money/invoices', { account })
    await pressOn(page, page.getByRole('link', { name: /^\d{4}-/ }))
    await page.getByRole('heading', { level: 1, name: /^Invoice/ }).waitFor()
    await world.unchanged(async () => {
      const dialog = page.getByRole('dialog', { name: 'Pay this invoice?' })
      await pressOn(page, page.getByRole('button', { name: 'Pay' }))
      await dialog.getByText(/^\$\d+\.\d\d is charged to/).waitFor()
      if (isFullRun) await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('button', { name: 'Cancel' }))
      await dialog.waitFor({ state: 'detached' })
      expect(await page.getByText('Payment or consent required').count()).toBe(0)
      await pressOn(page, page.getByRole('button', { name: 'Pay' }))
      await pressOn(page, dialog.getByRole('button', { name: 'Pay' }))
      await page.getByText('Payment or consent required').waitFor()
      await pressOn(page, dialog.getByRole('button', { name: 'Cancel' }))
      await dialog.waitFor({ state: 'detached' })
    })
    const coming = page.waitForEvent('download')
    await pressOn(page, page.getByRole('button', { name: 'PDF' }))
    const file = await readFile(await (await coming).path())
    expect(file.subarray(0, 5).toString()).toBe('%PDF-')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'Issue credit note' }))
    const dialog = page.getByRole('dialog', { name: 'Issue credit note' })
    await typeInto(page, dialog.getByRole('textbox', { name: 'Amount' }), '1')
    await page.keyboard.press('Enter')
    await page.getByText('Credited: $1.00').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Void' }))
    const asked = page.getByRole('dialog', { name: 'Void this invoice?' })
    await pressOn(page, asked.getByRole('button', { name: 'Void' }))
    await page.getByText('Invoice voided').waitFor()
    expect(await read()).toMatchObject([{ status: 'void', credited: 1 }])
  })
})

inFullRun(() =>
  describeAnyEngine('money of another currency in the console', (engine) => {
    const { world, open } = useConsole(engine, ({ configure }) => configure('services', { currency: 'EUR' }))

    const balanceOn = (page: Page) => page.getByRole('region', { name: 'Balance' })

    it('is shown and typed in that currency by every user who sees amounts', async () => {
      const customer = await open(world.ada, 'money')
      await balanceOn(customer.page).getByText('€0.00').waitFor()
      const field = customer.page.getByRole('textbox', { name: 'Amount' })
      await typeInto(customer.page, field, '12.5')
      expect(await field.inputValue()).toBe('€12.5')
      await expectForEverybody(customer.page)
      expect(await world.ross.patch(world.ross.path, { language: 'de-DE' })).toSucceed()
      const reseller = await open(world.ross, 'money', { account: world.acme, locale: 'de-DE' })
      await reseller.page
        .getByRole('region', { name: 'Guthaben' })
        .getByText(/^0,00\s€$/)
        .waitFor()
      const typed = reseller.page.getByRole('textbox', { name: 'Aufladebetrag' })
      await typeInto(reseller.page, typed, '7')
      expect(await typed.inputValue()).toBe('7 €')
      await reseller.page.keyboard.press('Enter')
      await reseller.page.getByText(/^7,00\s€ gutgeschrieben/).waitFor()
      const member = await open(world.uli, 'money')
      await balanceOn(member.page).getByText('€7.00').waitFor()
      await goTo(customer.page, 'overview')
      await customer.page.getByText('€7.00').waitFor()
    })

    it('follows the setting while a page of the operator is open', async () => {
      const { page } = await open(world.operator, 'money')
      await balanceOn(page).getByText('€0.00').waitFor()
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
      expect(
        await world.operator.patch('/v2/system_configs/services', { default: { currency: 'CHF' } }),
      ).toSucceed()
      await balanceOn(page)
        .getByText(/^CHF\s0\.00$/)
        .waitFor()
    })
  }),
)
