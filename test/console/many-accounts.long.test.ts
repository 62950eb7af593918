// A reseller with 100,000 accounts below: each daily task of the console works.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { scrollInSteps } from '../support/matchers/page-memory.ts'
import { arrowTo, choose, chooseItem, pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { accountWithMany, memberName } from '../support/world/many-accounts.ts'
import { describeOnce, type TestAccount } from '../support/world/world.ts'

const count = 100_000
const last = memberName(count - 1)
// More rows than a window shows.
const rowsOfStep = 250
const steps = 2
const maxMebibytes = 150

describeOnce('an account with 100,000 sub-accounts in the console', (engine) => {
  let crowd: TestAccount
  const { world, open } = useConsole(engine)

  beforeAll(async () => {
    crowd = await accountWithMany(world, count)
  })

  const item = (page: Page, name: string) => page.getByRole('treeitem', { name })

  it('opens its tree, and shows more of it page by page', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await item(page, memberName(49)).waitFor()
    await page.getByText('100,000 sub-accounts').waitFor()
    expect(await page.getByRole('treeitem', { name: /^Member/ }).count()).toBe(50)
    await tabTo(page, page.getByRole('tree'))
    await arrowTo(page, item(page, 'Show more'), 'ArrowDown')
    await page.keyboard.press('Enter')
    await item(page, memberName(99)).waitFor()
  })

  it('is scrolled as a list, and the page holds what is in sight', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await pressOn(page, page.getByRole('tab', { name: 'Tree' }), 'ArrowRight')
    const rows = page.getByRole('table', { name: 'Accounts' })
    await rows.getByRole('link', { name: memberName(0) }).waitFor()
    const { largest, nodes } = await scrollInSteps(page, rowsOfStep, steps)
    console.log(
      `${count} accounts on ${engine}: ${steps * rowsOfStep} rows read, heap ${largest.toFixed(1)} MiB and ${nodes} DOM nodes at most`,
    )
    expect(largest).toBeLessThan(maxMebibytes)
  })

  it('finds one of them by name and by realm, and acts for it', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    const box = page.getByRole('searchbox', { name: 'Search by name, realm or number' })
    const found = page.getByRole('table', { name: 'Accounts' }).getByRole('link', { name: last })
    await typeInto(page, box, 'm09999')
    await found.waitFor()
    await typeInto(page, box, 'Member 09')
    await page.getByText('The first 50 matches by name and by realm', { exact: false }).waitFor()
    await typeInto(page, box, last)
    await found.waitFor()
    await pressOn(page, found)
    await page.getByRole('heading', { level: 1, name: last }).waitFor()
    await pressOn(page, page.getByRole('link', { name: 'Manage' }))
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByText(last).waitFor()
  })

  it('is among the places where one of them can be moved to', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await tabTo(page, page.getByRole('tree'))
    await arrowTo(page, item(page, memberName(0)), 'ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: memberName(0) }).waitFor()
    await chooseItem(page, page.getByRole('button', { name: 'Actions' }), 'Move')
    const field = page.getByRole('dialog').getByRole('combobox')
    await choose(page, field, new RegExp(`^${last}`), last)
  })
})
