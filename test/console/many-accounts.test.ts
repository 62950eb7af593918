// A reseller's reseller with 100,000 accounts below: what one does every day stays as fast as with ten.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { arrowTo, choose, chooseItem, pressOn, tabTo, typeInto } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { accountWithMany, memberName } from '../support/many-accounts.ts'
import { openMemory, rowsSeen, scrollOn } from '../support/page-memory.ts'
import { describeOnce, type TestAccount } from '../support/world.ts'

const count = 100_000
const last = memberName(count - 1)
// As many as nobody has in sight at once.
const rowsWanted = 500
const patienceMs = 60_000
const mostMebibytes = 150

describeOnce('an account with 100,000 sub-accounts in the console', (engine) => {
  let crowd: TestAccount
  const { world, open } = useConsole(engine)

  beforeAll(async () => {
    const begun = performance.now()
    crowd = await accountWithMany(world, count)
    console.log(`${count} accounts on ${engine}: put there in ${Math.round(performance.now() - begun)} ms`)
  }, 180_000)

  /** Does something until its effect is seen, and prints how long that took. */
  const timed = async (what: string, act: () => Promise<unknown>) => {
    const begun = performance.now()
    await act()
    console.log(`${count} accounts on ${engine}: ${what} after ${Math.round(performance.now() - begun)} ms`)
  }

  const item = (page: Page, name: string) => page.getByRole('treeitem', { name })

  it('opens its tree, and goes on in it page by page', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await timed('the tree is there', () => item(page, memberName(49)).waitFor())
    await page.getByText('100,000 below').waitFor()
    expect(await page.getByRole('treeitem', { name: /^Member/ }).count()).toBe(50)
    await tabTo(page, page.getByRole('tree'))
    await arrowTo(page, item(page, 'Show more'), 'ArrowDown')
    await timed('more of the tree is there', async () => {
      await page.keyboard.press('Enter')
      await item(page, memberName(99)).waitFor()
    })
  })

  it('is scrolled as a list, and the page holds what is in sight', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await pressOn(page, page.getByRole('tab', { name: 'Tree' }), 'ArrowRight')
    const rows = page.getByRole('table', { name: 'Accounts' })
    await timed('the list is there', () => rows.getByRole('link', { name: memberName(0) }).waitFor())
    const memory = await openMemory(page)
    const samples = [await memory.sample()]
    const began = performance.now()
    let seen = 0
    while (seen <= rowsWanted && performance.now() - began < patienceMs) {
      await scrollOn(page, 1000)
      samples.push(await memory.sample())
      seen = await rowsSeen(page)
    }
    const took = Math.round((performance.now() - began) / 1000)
    const most = Math.max(...samples.map(({ mebibytes }) => mebibytes))
    const nodes = Math.max(...samples.map((sample) => sample.nodes))
    console.log(
      `${count} accounts on ${engine}: ${seen} rows read in ${took} s, heap ${most.toFixed(1)} MiB and ${nodes} DOM nodes at most`,
    )
    expect(seen).toBeGreaterThan(rowsWanted)
    expect(most).toBeLessThan(mostMebibytes)
  })

  it('finds one of them by name and by realm, and acts for it', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    const box = page.getByRole('searchbox', { name: 'Search by name, realm or number' })
    const found = page.getByRole('table', { name: 'Accounts' }).getByRole('link', { name: last })
    await typeInto(page, box, 'm09999')
    await timed('found by realm', () => found.waitFor())
    await typeInto(page, box, 'Member 09')
    await page.getByText('The first 50 by name and by realm are shown', { exact: false }).waitFor()
    await typeInto(page, box, last)
    await timed('found by name', () => found.waitFor())
    await pressOn(page, found)
    await page.getByRole('heading', { level: 1, name: last }).waitFor()
    await timed('acted for', async () => {
      await pressOn(page, page.getByRole('link', { name: 'Act for it' }))
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await page.getByRole('navigation', { name: 'Where you are' }).getByText(last).waitFor()
    })
  })

  it('is among the places where one of them can be moved to', async () => {
    const { page } = await open(world.ross, 'accounts', { account: crowd })
    await tabTo(page, page.getByRole('tree'))
    await arrowTo(page, item(page, memberName(0)), 'ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: memberName(0) }).waitFor()
    await chooseItem(page, page.getByRole('button', { name: 'Actions' }), 'Move')
    const field = page.getByRole('dialog').getByRole('combobox')
    await timed('a place to move to is found', () => choose(page, field, new RegExp(`^${last}`), last))
  })
})
