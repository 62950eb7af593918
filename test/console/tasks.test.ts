// Bulk work in the console.
import { open as openFile, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, pressOn } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type Person } from '../support/world/world.ts'

const csvFile = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

const chooseAction = (page: Page, action: string) =>
  choose(page, page.getByRole('combobox', { name: 'Action' }), action, action)

/** By keyboard, up to the browser's own dialog. */
const chooseFile = async (page: Page, file: string | ReturnType<typeof csvFile>) => {
  const button = page.getByRole('button', { name: 'File', exact: true })
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), pressOn(page, button)])
  await chooser.setFiles(file)
}

/** A sparse file on disk: it has a size, but only its beginning has content. */
const sparseFile = async (name: string, beginning: string, bytes: number) => {
  const path = join(tmpdir(), `crosspoint-${process.pid}-${name}`)
  const file = await openFile(path, 'w')
  await file.write(beginning)
  await file.truncate(bytes)
  await file.close()
  onTestFinished(() => rm(path))
  return path
}

describeAnyEngine('bulk work in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  /** An admin whose account has no tasks. */
  const someone = async () => world.admin(await world.account(world.reseller))
  const tasksOf = ({ account }: Person) => `${account.path}/tasks`
  const numberPath = (account: { path: string }, number: string) =>
    `${account.path}/phone_numbers/${encodeURIComponent(number)}`

  it('a CSV with mistakes is corrected step by step', async () => {
    const taken = '+14155550107'
    const agreed = { envelope: { accept_charges: true } }
    const ada = await someone()
    expect(await world.operator.patch(ada.account.path, { wnm_allow_additions: true })).toSucceed()
    expect(await world.operator.put(numberPath(world.rival, taken), {}, agreed)).toSucceed()

    // By keyboard: the file's column has a wrong name, which its beginning shows.
    const { page } = await open(ada, 'tasks')
    await page.getByText('No bulk tasks yet', { exact: false }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New task' }).first())
    await chooseAction(page, 'Bulk-import numbers')
    await chooseFile(page, csvFile('wrong.csv', `number,cnam.inbound\n+14155550106,true\n`))
    await page.getByText('Missing columns: e164').waitFor()
    await page.getByText('Unknown columns: number').waitFor()
    await expectForEverybody(page)
    expect(await page.getByRole('button', { name: 'Start a dry run' }).isDisabled()).toBe(true)

    // The right column, one number of another account, and one value that is not a number.
    const rows = `e164\n+14155550106\n${taken}\nnonsense\n`
    await chooseFile(page, csvFile('numbers.csv', rows))
    await page.getByText('The header matches.').waitFor()
    await page.getByRole('cell', { name: taken }).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Start a dry run' }))
    await page.getByText('3 of 3 rows · 2 failed').waitFor()
    expect(await ada.get(numberPath(ada.account, '+14155550106'))).toFailWith(404, 'bad_identifier')
    await pressOn(page, page.getByRole('tab', { name: 'Task' }), 'ArrowRight')
    const output = page.getByRole('table', { name: 'Rows' })
    await output.getByRole('row', { name: /2 .*14155550107/ }).waitFor()
    await output.getByRole('row', { name: /3 nonsense.*bad field/ }).waitFor()
    expect(await output.getByRole('row').count()).toBe(3)
    await expectForEverybody(page)

    // For real: what can be done is done.
    await pressOn(page, page.getByRole('button', { name: 'Create task' }))
    await page.getByText('Not started').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Start' }))
    const dialog = page.getByRole('dialog', { name: 'Start this task?' })
    await dialog.getByText('3 rows will be processed.').waitFor()
    await pressOn(page, dialog.getByRole('button', { name: 'Start' }))
    await page.getByText('3 of 3 rows · 2 failed').waitFor()
    await page.getByText('Partially done').waitFor()
    expect(await ada.get(numberPath(ada.account, '+14155550106'))).toSucceed()

    // The rival gives the number away; only what failed is done once more.
    const free = await world.operator.delete(`${numberPath(world.rival, taken)}?hard=true`)
    expect(free).toSucceed()
    await pressOn(page, page.getByRole('button', { name: 'Retry failed rows' }))
    await page.getByText('0 of 2 rows').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Start' }))
    await pressOn(page, dialog.getByRole('button', { name: 'Start' }))
    await page.getByText('2 of 2 rows · 1 failed').waitFor()
    expect(await ada.get(numberPath(ada.account, taken))).toSucceed()
    const { data } = await ada.get(tasksOf(ada))
    expect(data.map(({ status, dry_run = false }: Json) => ({ status, dry_run }))).toEqual([
      { status: 'partial', dry_run: false },
      { status: 'partial', dry_run: false },
      { status: 'partial', dry_run: true },
    ])
  })

  inFullRun(() => {
    it('a task that runs shows how far it is, and is stopped, continued and deleted by keyboard alone', async () => {
      const ada = await someone()
      await world.configure('tasks', { wait_after_row_ms: 60_000 })
      const csv = Buffer.from('e164\n+14155550201\n+14155550202\n+14155550203\n')
      const made = await ada.put(tasksOf(ada), undefined, {
        query: { category: 'number_management', action: 'find', file_name: 'search.csv' },
        body: csv,
        headers: { 'content-type': 'text/csv' },
      })
      const { page } = await open(ada, 'tasks')
      await page.getByRole('row', { name: /Find numbers Not started/ }).waitFor()
      expect(await ada.patch(`${tasksOf(ada)}/${made.body.metadata.id}`)).toSucceed()
      // Another user has started it: the list follows row by row, and shows how long the rest takes.
      await page.getByRole('row', { name: /Find numbers Running 1 of 3 rows · .* left/ }).waitFor()
      await pressOn(page, page.getByRole('row', { name: /Running/ }).getByRole('link'))
      await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Stop' }))
      await page.getByText('Stopped', { exact: true }).waitFor()
      await world.configure('tasks', { wait_after_row_ms: 0 })
      await pressOn(page, page.getByRole('button', { name: 'Run the remaining rows' }))
      await page.getByText('0 of 2 rows').waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Start' }))
      await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Start' }))
      await page.getByText('2 of 2 rows').waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Delete' }))
      await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Delete' }))
      await page.getByRole('row', { name: /Find numbers Stopped/ }).waitFor()
      expect((await ada.get(tasksOf(ada))).data.map(({ status }: Json) => status)).not.toContain('executing')
    })

    it('input and output are saved as they are', async () => {
      const ada = await someone()
      const text = 'e164\r\n+14155550301\r\n'
      const made = await ada.put(tasksOf(ada), undefined, {
        query: { category: 'number_management', action: 'find', file_name: 'mine.csv' },
        body: Buffer.from(text),
        headers: { 'content-type': 'text/csv' },
      })
      const { page } = await open(ada, `tasks/${made.body.metadata.id}`)
      const coming = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download input' }).click()
      const download = await coming
      expect(download.suggestedFilename()).toBe('mine.csv')
      expect(await readFile(await download.path(), 'utf8')).toBe(text)
    })

    it('a file of 500 MB is looked at without reading it, and refused in words where it is too large', async () => {
      await world.configure('crossbar', { max_streamed_size: 1_000_000 })
      onTestFinished(() => world.configure('crossbar', { max_streamed_size: 4 * 1024 ** 3 }))
      const rows = Array.from({ length: 20_000 }, (_, row) => `+1415556${String(row).padStart(4, '0')}`)
      const path = await sparseFile('large.csv', `e164\n${rows.join('\n')}\n`, 500 * 1024 ** 2)
      const { page } = await open(world.ada, 'tasks/new')
      await chooseAction(page, 'Find numbers')
      await chooseFile(page, path)
      await page.getByRole('cell', { name: '+14155560019' }).waitFor()
      expect(await page.getByRole('table', { name: 'File preview' }).getByRole('row').count()).toBe(21)
      await world.unchanged(async () => {
        await page.getByRole('button', { name: 'Create task' }).click()
        await page.getByRole('alert').getByText('Too large').waitFor()
      })
    })

    it('columns that only the server knows to be wrong are named', async () => {
      const { page } = await open(world.ada, 'tasks/new')
      await chooseAction(page, 'Find numbers')
      await chooseFile(page, csvFile('more.csv', 'e164,colour\n+14155550401,red\n'))
      await page.getByText('Unknown columns: colour').waitFor()
      await world.unchanged(async () => {
        await page.getByRole('button', { name: 'Create task' }).click()
        await page.getByRole('alert').getByText('The file was refused').waitFor()
      })
    })
  })
})
