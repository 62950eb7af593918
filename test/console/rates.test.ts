// Prices of calls in the console.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('rates in the console', (engine) => {
  const { world, open, expectForEverybody, expectScreensForEverybody } = useConsole(engine)

  const rate = (fields: Json) => world.operator.put('/v2/rates', fields)

  const pricesOf = async (ratedeck_id: string) => {
    const { data } = await world.operator.get('/v2/rates', { query: { ratedeck_id, ascending: true } })
    return data.map(({ prefix, cost }: Json) => [prefix, cost])
  }

  it('an operator compares a price list with the stored rates before the upload, by keyboard alone', async () => {
    const deck = 'compared'
    await rate({ prefix: 4930, rate_cost: 0.02, ratedeck_id: deck })
    await rate({ prefix: 33, rate_cost: 0.03, weight: 10, ratedeck_id: deck })
    const { page } = await open(world.operator, 'rates/upload')
    await expectForEverybody(page)
    const csv = `prefix,rate_cost,ratedeck_id\n4930,0.015,${deck}\n33,0.03,${deck}\n39,0.04,${deck}\nno,1,${deck}\n`
    const button = page.getByRole('button', { name: 'File', exact: true })
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), pressOn(page, button)])
    await chooser.setFiles({ name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await page.getByText('The header matches.').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Compare' }))
    await page.getByRole('heading', { level: 1, name: 'Compare before upload' }).waitFor()
    const changed = page.getByRole('table', { name: 'Changed' })
    await changed.getByRole('row', { name: /1 4930 compared \$0\.02 \$0\.015 −25%/ }).waitFor()
    for (const count of ['Changed: 1', 'Added: 1', 'Unchanged: 1', 'Invalid: 1'])
      await page.getByText(count, { exact: true }).waitFor()
    await expectForEverybody(page)
    expect(await pricesOf(deck)).toEqual([
      [33, 0.03],
      [4930, 0.02],
    ])
    await pressOn(page, page.getByRole('button', { name: 'Upload 2 rates' }))
    const dialog = page.getByRole('dialog', { name: 'Upload these rates?' })
    await pressOn(page, dialog.getByRole('button', { name: 'Upload' }))
    await page.getByText('4 of 4 rows · 1 failed').waitFor()
    expect(await pricesOf(deck)).toEqual([
      [33, 0.03],
      [39, 0.04],
      [4930, 0.015],
    ])
  })

  inFullRun(() => {
    it('an operator finds the rate that applies to a number, in each ratedeck', async () => {
      await rate({ prefix: 4420, rate_cost: 0.025, rate_name: 'GB_London' })
      await rate({ prefix: 44, rate_cost: 0.02, rate_name: 'GB' })
      await rate({ prefix: 44, rate_cost: 0.01234567, rate_name: 'GB_wholesale', ratedeck_id: 'wholesale' })
      const { page } = await open(world.operator, 'rates')
      await typeInto(page, page.getByRole('searchbox', { name: 'Number or prefix' }), '+44 20 7946 0000')
      const result = page.getByRole('status', { name: 'Price of the call' })
      await result.getByText('$0.025 per minute').waitFor()
      await page.getByRole('row', { name: /\+4420 Applies GB_London/ }).waitFor()
      await page.getByRole('row', { name: /\+44 GB \$0\.02/ }).waitFor()
      await expectForEverybody(page)
      await choose(page, page.getByRole('combobox', { name: 'Ratedeck' }), 'wholesale')
      await result.getByText('$0.01234567 per minute').waitFor()
      await page.getByRole('row', { name: /\+44 Applies GB_wholesale/ }).waitFor()
    })

    it('a customer sees the price of a call, and no list of rates', async () => {
      await rate({ prefix: 81, rate_cost: 0.065, rate_name: 'JP' })
      const { page } = await open(world.ada, 'rates')
      const result = page.getByRole('status', { name: 'Price of the call' })
      await result.getByText('Enter a complete number', { exact: false }).waitFor()
      const number = page.getByRole('searchbox', { name: 'Number or prefix' })
      await typeInto(page, number, '+81355550100')
      await result.getByText('$0.065 per minute').waitFor()
      await expectForEverybody(page)
      await typeInto(page, number, '+99955550100')
      await result.getByText('No rate for +99955550100: calls to it cost nothing.').waitFor()
      expect(await page.getByRole('link', { name: 'Upload rates' }).count()).toBe(0)
      expect(await page.getByRole('table').count()).toBe(0)
    })

    it('a rate is made, changed and deleted by keyboard alone, and a refusal shows its field', async () => {
      const { page } = await open(world.operator, 'rates/new')
      const cost = page.getByRole('textbox', { name: /^Price per minute/ })
      await typeInto(page, page.getByRole('textbox', { name: /^Prefix/ }), '372')
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Create' }))
        await cost.and(page.locator('[aria-invalid=true]')).waitFor()
      })
      await typeInto(page, cost, '0.05')
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByRole('heading', { level: 1, name: '+372' }).waitFor()
      await typeInto(page, cost, '0.06')
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved', { exact: true }).waitFor()
      const found = async () => (await world.operator.get('/v2/rates?prefix=372')).data
      expect(await found()).toMatchObject([{ prefix: 372, rate_cost: 0.06 }])
      await pressOn(page, page.getByRole('button', { name: 'Delete' }))
      const question = page.getByRole('dialog', { name: 'Delete this rate?' })
      await pressOn(page, question.getByRole('button', { name: 'Delete' }))
      await page.getByRole('heading', { level: 1, name: 'Rates' }).waitFor()
      expect(await found()).toEqual([])
    })

    it('have accessible screens', async () => {
      const { page } = await open(world.operator, 'overview')
      await expectScreensForEverybody(page, ['rates', 'rates/new'])
    })
  })
})
