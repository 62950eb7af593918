// What the operator of the server sees and sets, in the console.
import { expect, it } from 'vitest'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { choose, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('the system in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('is there for the operator alone', async () => {
    const operator = await open(world.operator, 'system')
    await operator.page.getByRole('table', { name: 'Server process' }).waitFor()
    await operator.page.getByText('Ready', { exact: true }).waitFor()
    for (const card of ['Failed jobs', 'Waiting jobs', 'Migrations'])
      await operator.page
        .getByRole('region', { name: card })
        .getByText(/^\d+\+?$/)
        .waitFor()
    await expectForEverybody(operator.page)
    const customer = await open(world.ada, 'system')
    await customer.page.getByRole('heading', { name: 'Page not found' }).waitFor()
    expect(await customer.page.getByRole('button', { name: 'System' }).count()).toBe(0)
  })

  it('has its settings as forms of their schemas, found by a field, with errors at the field and a reset, by keyboard alone', async () => {
    const { page } = await open(world.operator, 'system/settings')
    const server = page.getByRole('region', { name: 'Server' })
    await server.getByRole('link', { name: 'Throttling' }).waitFor()
    await typeInto(page, page.getByRole('searchbox', { name: 'Find settings' }), 'bucket tok')
    await page.getByText('Fields: Max bucket tokens').waitFor()
    await page.getByRole('link', { name: 'Phone numbers' }).waitFor({ state: 'detached' })
    await expectForEverybody(page)
    await pressOn(page, server.getByRole('link', { name: 'Throttling' }))
    const tokens = page.getByRole('textbox', { name: /^Max bucket tokens \(throttling/ })
    expect([await tokens.inputValue(), await tokens.getAttribute('placeholder')]).toEqual(['', '100'])
    await typeInto(page, tokens, '0')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await tokens.and(page.locator('[aria-invalid=true]')).waitFor()
    })
    await expectForEverybody(page)
    await typeInto(page, tokens, '250')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Saved', { exact: true }).waitFor()
    const set = async () =>
      (await world.operator.get('/v2/system_configs/token_buckets')).data.default.max_bucket_tokens
    expect(await set()).toBe(250)
    await pressOn(page, page.getByRole('button', { name: 'Reset Max bucket tokens to its default' }))
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await expect.poll(set).toBe(100)
  })

  inFullRun(() => {
    it('takes a number as it is typed, and shows what another user has set', async () => {
      const { page } = await open(world.operator, 'system/settings/token_buckets')
      const tokens = page.getByRole('textbox', { name: /^Max bucket tokens/ })
      await typeInto(page, tokens, '0300')
      await page.keyboard.press('Enter')
      await page.getByText('Saved', { exact: true }).waitFor()
      const { data } = await world.operator.get('/v2/system_configs/token_buckets')
      expect(data.default.max_bucket_tokens).toBe(300)
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
      const set = { default: { max_bucket_tokens: 400 } }
      expect(await world.operator.patch('/v2/system_configs/token_buckets', set)).toSucceed()
      await page.locator('input[value="400"]').waitFor()
      expect(await tokens.inputValue()).toBe('400')
    })
  })

  inFullRun(() => {
    it('shows nested settings as sections, lists as tags, and secrets hidden', async () => {
      await world.configure('switch', { kamailio: { secret: 'swordfish-of-the-edge' } })
      const { page } = await open(world.operator, 'system/settings/switch')
      const secret = page
        .getByRole('region', { name: 'Kamailio' })
        .getByLabel(/^Secret/)
        .first()
      await secret.waitFor()
      expect([await secret.getAttribute('type'), await secret.inputValue()]).toEqual(['password', '***'])
      const hosts = page.getByRole('region', { name: 'Values' }).getByLabel(/^SIP hosts/)
      await typeInto(page, hosts.first(), 'sip.one.test')
      await page.keyboard.press('Enter')
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved', { exact: true }).waitFor()
      const { data } = await world.operator.get('/v2/system_configs/switch')
      expect(data.default).toMatchObject({ sip_hosts: ['sip.one.test'], kamailio: { secret: '***' } })
      await expectForEverybody(page)
    })
  })

  inFullRun(() => {
    it('runs migrations, and shows how far they are', async () => {
      const { page } = await open(world.operator, 'system/migrations')
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('link', { name: 'Recount billable items' }))
      const dialog = page.getByRole('dialog', { name: 'Run “Recount billable items” now?' })
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Run now' }))
        await dialog.getByText('this account and its sub-accounts', { exact: false }).waitFor()
        if (isFullRun) await expectForEverybody(page)
        await pressOn(page, dialog.getByRole('button', { name: 'Cancel' }))
        await dialog.waitFor({ state: 'detached' })
      })
      await pressOn(page, page.getByRole('button', { name: 'Run now' }))
      await pressOn(page, dialog.getByRole('button', { name: 'Run now' }))
      await page.getByRole('heading', { name: 'Last run: finished' }).waitFor()
      if (isFullRun) await expectForEverybody(page)
      const { data } = await world.operator.get(`${world.master.path}/migrations/recount_services`)
      expect(data.run).toMatchObject({ status: 'finished', failed: 0 })
    })
  })

  inFullRun(() => {
    it('shows the jobs by state and kind, the reason of a failed attempt, and retries one at once', async () => {
      await world.configure('provisioner', { provisioning_url: 'http://127.0.0.1:9/' })
      await world.device(world.acme, {
        mac_address: '00:15:65:00:00:01',
        provision: { endpoint_brand: 'yealink' },
      })
      await world.server.scheduler.runNow('provisioning')
      const { page } = await open(world.operator, 'system/work')
      const row = page.getByRole('row', { name: /^Phone provisioning/ })
      await row.getByText('Retrying', { exact: true }).waitFor()
      await choose(page, page.getByRole('combobox', { name: 'Kind' }), 'Email', 'Email')
      await row.waitFor({ state: 'detached' })
      await choose(page, page.getByRole('combobox', { name: 'Kind' }), 'Phone provisioning', 'Phone')
      await row.waitFor()
      await expectForEverybody(page)
      await pressOn(page, row.getByRole('link', { name: 'Phone provisioning' }))
      await page.getByRole('heading', { level: 1, name: 'Phone provisioning' }).waitFor()
      const [job] = (await world.operator.get('/v2/work?kind=provisioning&state=waiting')).data
      await page.getByRole('alert').getByText(job.outcome).waitFor()
      await page.getByRole('table', { name: 'Job' }).getByRole('link', { name: 'Acme' }).waitFor()
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Retry now' }))
      await page.getByText('Retrying now').waitFor()
    })
  })
})
