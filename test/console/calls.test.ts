// Calls in the console.
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, goTo, openTab, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type World } from '../support/world/world.ts'

const day = 86_400
const fromCarol = '+14155550001'

/** Three calls of today, one of them with a second leg, one of five days ago and one of three weeks ago. */
const settle = async (world: World) => {
  const now = nowOf(world)
  const interaction = { interaction_time: now - 400, interaction_key: 'deadbeef' }
  const talk = { billing_seconds: 20, hangup_cause: 'NORMAL_CLEARING', caller_id_number: fromCarol }
  const owner = { custom_channel_vars: { owner_id: world.uli.id } }
  await sendLegs(world, [
    legOf(world.acme, now - 100, { ...talk, ...interaction, callee_id_number: '2041', call_id: 'first-leg' }),
    legOf(world.acme, now - 90, {
      ...interaction,
      call_direction: 'outbound',
      hangup_cause: 'NO_ANSWER',
      caller_id_number: fromCarol,
      callee_id_number: '2042',
      call_id: 'second-leg',
    }),
    legOf(world.acme, now - 3600, { ...talk, ...owner, callee_id_number: '2043' }),
    legOf(world.acme, now - 7200, { hangup_cause: 'USER_BUSY', caller_id_name: '=1+1 مريم <b>' }),
    legOf(world.acme, now - 5 * day, { ...talk, callee_id_number: '2045' }),
    legOf(world.acme, now - 21 * day, { ...talk, callee_id_number: '2046' }),
  ])
  expect(await world.ada.patch(world.acme.path, { timezone: 'America/Los_Angeles' })).toSucceed()
}

describeAnyEngine('calls in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine, settle)

  it('are listed by days of the account, and narrowed by keyboard alone', async () => {
    const { page } = await open(world.ada, 'calls')
    await page.getByText('5 rows', { exact: true }).waitFor()
    // 2026-01-05T12:00:00Z
    await page.getByRole('link', { name: 'Jan 5, 2026, 3:57:50 AM' }).waitFor()
    await page.getByRole('radio', { name: '7 days' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('6 rows', { exact: true }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.getByText('4 rows', { exact: true }).waitFor()
    await typeInto(page, page.getByRole('searchbox', { name: 'Caller number' }), fromCarol)
    await page.getByText('3 rows', { exact: true }).waitFor()
    await choose(page, page.getByRole('combobox', { name: 'Direction' }), 'Outbound')
    await page.getByText('1 row', { exact: true }).waitFor()
    // The filters are in the address: a link to it shows the same calls.
    await page.reload()
    await page.getByText('1 row', { exact: true }).waitFor()
    await typeInto(page, page.getByRole('searchbox', { name: 'Caller number' }), '+19')
    await page.getByText('No matching calls', { exact: false }).waitFor()
  })

  inFullRun(() => {
    it('are found by their user and by why they ended, also on days of one choosing', async () => {
      const { page } = await open(world.ada, `calls?range=month&user=${world.uli.id}`)
      await page.getByText('1 row', { exact: true }).waitFor()
      await goTo(page, 'calls?range=own&from=2025-12-10&to=2025-12-20')
      await page.getByRole('cell', { name: '2046' }).waitFor()
      await page.getByText('1 row', { exact: true }).waitFor()
      await goTo(page, 'calls?range=month')
      await choose(page, page.getByRole('combobox', { name: 'Hangup cause' }), 'USER_BUSY')
      await page.getByText('1 row', { exact: true }).waitFor()
      // A range that is too long is refused in words.
      await goTo(page, 'calls?range=own&from=2025-01-01&to=2025-12-20')
      await page.getByRole('alert').first().waitFor()
    })
  })

  inFullRun(() => {
    it('open as a record with the legs of its interaction, each with its place in time, by keyboard alone', async () => {
      const { page } = await open(world.ada, 'calls?range=today')
      await pressOn(page, page.getByRole('row', { name: /2041/ }).getByRole('link'))
      await page.getByRole('heading', { level: 1, name: `${fromCarol} to 2041` }).waitFor()
      const legs = page.getByRole('table', { name: 'Call legs' })
      await legs.getByRole('row', { name: /2042.*NO_ANSWER/ }).waitFor()
      expect(await legs.getByRole('row').count()).toBe(3)
      await expectForEverybody(page)
      await openTab(page, 'All fields')
      await page.getByRole('rowheader', { name: 'custom_channel_vars.account_id' }).waitFor()
      await openTab(page, 'Call')
      await pressOn(page, legs.getByRole('row', { name: /2042/ }).getByRole('link'))
      await page.getByRole('heading', { level: 1, name: `${fromCarol} to 2042` }).waitFor()
    })
  })

  inFullRun(() => {
    it('are counted in charts whose figures stand in a table', async () => {
      const { page } = await open(world.ada, 'calls/charts?range=week')
      const figures = page.getByRole('table', { name: 'Chart data' })
      await figures.getByRole('row', { name: /Jan 5, 2026 4 2 50%/ }).waitFor()
      await figures.getByRole('row', { name: /Dec 31, 2025 1 1 100%/ }).waitFor()
      await page.locator('.recharts-bar-rectangle').first().waitFor()
      await choose(page, page.getByRole('combobox', { name: 'Grouped by' }), 'Hangup cause')
      await figures.getByRole('row', { name: /Jan 5, 2026 USER_BUSY 1/ }).waitFor()
      await expectForEverybody(page)
    })
  })

  inFullRun(() => {
    it('are saved as a file of just those that the list shows', async () => {
      const { page } = await open(world.ada, `calls?range=today&caller=${encodeURIComponent(fromCarol)}`)
      await page.getByText('3 rows', { exact: true }).waitFor()
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Export' }))
      await page.getByRole('dialog', { name: 'Calls as a CSV file' }).waitFor()
      await expectForEverybody(page)
      const coming = page.waitForEvent('download')
      await pressOn(page, page.getByRole('button', { name: 'Save as CSV' }))
      const download = await coming
      expect(download.suggestedFilename()).toBe('calls-2026-01-05.csv')
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
      expect(lines).toHaveLength(4)
      expect(lines[0]).toMatch(/^id,call_id,/)
    })
  })

  inFullRun(() => {
    it('are written by a task where there are many', async () => {
      const { page } = await open(world.ada, 'calls?range=month')
      await pressOn(page, page.getByRole('button', { name: 'Export' }))
      await pressOn(page, page.getByRole('button', { name: 'Export in the background' }))
      await page.getByRole('heading', { level: 1, name: 'Export call detail records of any range' }).waitFor()
      await page.getByText('Done', { exact: true }).waitFor()
      const { data: tasks } = await world.ada.get(`${world.acme.path}/tasks`)
      expect(tasks[0]).toMatchObject({ category: 'cdrs', action: 'export', status: 'success' })
      const { text } = await world.ada.get(`${world.acme.path}/tasks/${tasks[0].id}/output`)
      expect(text.trim().split('\r\n')).toHaveLength(7)
    })

    it('of an account without any say so', async () => {
      const { page } = await open(world.rex, 'calls')
      await page.getByText('No calls in this period', { exact: false }).waitFor()
    })
  })
})
