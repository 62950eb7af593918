// A list of any length, scrolled: the page keeps what is in sight.
/// <reference lib="dom" />
import { expect, it } from 'vitest'
import { fillCdrs } from '../../bench/cdr-records.ts'
import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import { rowsSeen, scrollInSteps } from '../support/matchers/page-memory.ts'
import { typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeOnce } from '../support/world/world.ts'

const rowCount = 20_000
const rowsOfStep = 250
const steps = 40

const gregorianOf = (date: string) => Date.parse(date) / 1000 + gregorianUnixOffset
const december = { created_from: gregorianOf('2025-12-01'), created_to: gregorianOf('2026-01-01') - 1 }

const mebibyte = 1024 ** 2
const maxMebibytes = 150
// Two samples differ by whatever the page shows at that time.
const flatMebibytes = 20
// The list keeps the place of each row that it has read, of 400,000 at most.
const bytesOfPlace = 300

describeOnce('a long list in the console', (engine) => {
  const { world, open } = useConsole(engine, async (built) => {
    await fillCdrs(built.place, { accountId: built.acme.id, month: 202512, count: rowCount })
  })

  it('keeps the memory of the page flat while it is scrolled', async () => {
    const { page } = await open(world.ada, 'calls?range=own&from=2025-12-01&to=2025-12-31')
    await page.getByText(/[\d,.]+ rows/).waitFor()
    const { first, last, largest, nodes } = await scrollInSteps(page, rowsOfStep, steps)
    const read = await rowsSeen(page)
    console.log(
      `${rowCount} rows on ${engine}: ${read} rows read, heap ${first.toFixed(1)} MiB at first, ${last.toFixed(1)} MiB at the end, ${largest.toFixed(1)} MiB at most, ${nodes} DOM nodes at most`,
    )
    expect(largest).toBeLessThan(maxMebibytes)
    expect(last - first).toBeLessThan(flatMebibytes + (read * bytesOfPlace) / mebibyte)
    // The end of what was read can be left again, and the beginning is where it was.
    await page.evaluate(() => document.querySelector('.row-list')?.scrollTo(0, 0))
    await page.locator('[aria-rowindex="2"]').waitFor()
  })

  it('is searched while one types', async () => {
    const { page } = await open(world.ada, 'calls?range=own&from=2025-12-01&to=2025-12-31')
    const rows = page.getByText(/^[\d,.]+ rows/)
    await rows.waitFor()
    const box = page.getByRole('searchbox', { name: 'Caller number' })
    const caller = '+14155550042'
    await typeInto(page, box, caller)
    const query = { filter_caller_id_number: caller, paginate: false, ...december }
    const { data } = await world.ada.get(`${world.acme.path}/cdrs`, { query })
    expect(data.length).toBeGreaterThan(1)
    expect(data.length).toBeLessThan(rowCount)
    await page.getByText(`${data.length} rows`, { exact: true }).waitFor()
    expect(await box.inputValue()).toBe(caller)
  })
})
