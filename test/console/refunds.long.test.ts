// Money that is given back, in the console.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { expectForEverybody, openEntry, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type Person, type TestAccount } from '../support/world/world.ts'

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})
afterEach(() => bookkeeper.reset())
afterAll(() => bookkeeper.close())

describeAnyEngine('refunds in the console', (engine) => {
  const { world, open } = useConsole(engine, ({ configure }) =>
    configure('services.http_sync', bookkeeper.settings),
  )

  /** A customer that has paid, and the admin of it. */
  const paid = async (amount: number) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'http' } })
    expect(await admin.post(`${account.path}/services/topup`, { amount })).toSucceed()
    return { account, admin }
  }

  const moneyOf = async ({ path }: TestAccount) => ({
    balance: (await world.ross.get(`${path}/ledgers/total`)).data.amount,
    moved: (await world.ross.get(`${path}/transactions`)).data.map(
      ({ amount }: { amount: number }) => amount,
    ),
  })

  const openCharge = async (person: Person, account: TestAccount, name: string) => {
    const { page } = await open(person, 'money/transactions', { account })
    const row = page.getByRole('row', { name: /Completed/ })
    await pressOn(page, row.getByRole('link'))
    await page.getByRole('heading', { level: 1, name }).waitFor()
    return page
  }

  const ask = async (page: Page, amount?: string) => {
    await pressOn(page, page.getByRole('button', { name: 'Refund', exact: true }))
    const dialog = page.getByRole('dialog', { name: 'Refund this charge?' })
    if (amount !== undefined) await typeInto(page, dialog.getByRole('textbox', { name: 'Amount' }), amount)
    return dialog
  }

  it('of more than is left are refused at the amount, of a part and of the rest are made, by keyboard alone', async () => {
    const { account } = await paid(25)
    const page = await openCharge(world.ross, account, 'Charge of $25.00')
    const first = await ask(page, '26')
    await world.unchanged(async () => {
      await page.keyboard.press('Enter')
      await first.getByText('No sale has this amount left to refund').waitFor()
    })
    expect(bookkeeper.calls.filter(({ body }) => body.operation === 'refund')).toEqual([])
    await typeInto(page, first.getByRole('textbox', { name: 'Amount' }), '10.5')
    await typeInto(page, first.getByRole('textbox', { name: 'Description' }), 'It was down')
    await expectForEverybody(page)
    expect(await moneyOf(account)).toEqual({ balance: 25, moved: [25] })
    await pressOn(page, first.getByRole('button', { name: 'Refund $10.50' }))
    await page.getByText('Refund completed').waitFor()
    await page.getByRole('cell', { name: '$10.50; $14.50 left' }).waitFor()
    expect(await moneyOf(account)).toEqual({ balance: 14.5, moved: [-10.5, 25] })
    await expectForEverybody(page)

    const rest = await ask(page)
    await pressOn(page, rest.getByRole('button', { name: 'Refund $14.50' }))
    await page.getByRole('cell', { name: '$25.00; $0.00 left' }).waitFor()
    expect(await moneyOf(account)).toEqual({ balance: 0, moved: [-14.5, -10.5, 25] })
    await page.getByRole('button', { name: 'Refund', exact: true }).waitFor({ state: 'detached' })

    await openEntry(page, 'Transactions')
    await pressOn(page, page.getByRole('row', { name: /It was down/ }).getByRole('link'))
    await page.getByRole('heading', { level: 1, name: 'Refund of $10.50' }).waitFor()
    expect(await page.getByRole('button', { name: 'Refund', exact: true }).count()).toBe(0)
    await pressOn(page, page.getByRole('row', { name: /^Refund of/ }).getByRole('link'))
    await page.getByRole('heading', { level: 1, name: 'Charge of $25.00' }).waitFor()
  })

  it('whose answer was lost are made once, however often one presses', async () => {
    const { account } = await paid(9)
    const page = await openCharge(world.ross, account, 'Charge of $9.00')
    const dialog = await ask(page, '4')
    // The server carries out the request, but a proxy in front of it responds with an error.
    await page.route(
      '**/transactions/refund',
      async (route) => {
        await route.fetch()
        await route.fulfill({ status: 500, body: '' })
      },
      { times: 1 },
    )
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Server error' }).waitFor()
    await pressOn(page, dialog.getByRole('button', { name: 'Refund $4.00' }))
    await page.getByText('Refund completed').waitFor()
    expect(await moneyOf(account)).toEqual({ balance: 5, moved: [-4, 9] })

    // The same once more is another wish.
    const another = await ask(page, '4')
    await pressOn(page, another.getByRole('button', { name: 'Refund $4.00' }))
    await page.getByRole('cell', { name: '$8.00; $1.00 left' }).waitFor()
    expect(await moneyOf(account)).toEqual({ balance: 1, moved: [-4, -4, 9] })
  })

  it('that the bookkeeper declines are explained, and move nothing', async () => {
    const { account } = await paid(6)
    const page = await openCharge(world.ross, account, 'Charge of $6.00')
    bookkeeper.state.manner = 'declines'
    const dialog = await ask(page, '2')
    await page.keyboard.press('Enter')
    await dialog.getByText(/Nothing was refunded:.*Not enough money/).waitFor()
    expect((await moneyOf(account)).balance).toBe(6)
  })

  it('are for the seller: the customer sees the charge, and no button', async () => {
    const { account, admin } = await paid(5)
    const page = await openCharge(admin, account, 'Charge of $5.00')
    expect(await page.getByRole('button', { name: 'Refund', exact: true }).count()).toBe(0)
  })

  it('are listed with their charges in the currency of each, whatever the current setting is', async () => {
    const { account } = await paid(25)
    await world.configure('services', { currency: 'EUR' })
    onTestFinished(() => world.configure('services', { currency: 'USD' }))
    const page = await openCharge(world.ross, account, 'Charge of $25.00')
    const dialog = await ask(page, '10.5')
    expect(await dialog.getByRole('textbox', { name: 'Amount' }).inputValue()).toBe('$10.5')
    await pressOn(page, dialog.getByRole('button', { name: 'Refund $10.50' }))
    await page.getByText('Refund completed').waitFor()
    await openEntry(page, 'Transactions')
    await page.getByRole('cell', { name: '-$10.50', exact: true }).waitFor()
    await page.getByRole('cell', { name: '$25.00', exact: true }).waitFor()
    expect(await page.getByText('€').count()).toBe(0)
  })
})
