// Access lists and packet limits in the console.
import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('the edge in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('is given an access list, and shows who would pass, by keyboard alone', async () => {
    const account = await world.account(world.reseller, { name: 'Listed', realm: 'listed.test' })
    const { page } = await open(world.ross, 'edge', { account })
    await page.getByText('No access list: packets from every address are allowed.').waitFor()
    await typeInto(page, page.getByRole('textbox', { name: 'Networks' }), '192.0.2.0/24\n198.51.100.0/33')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText(/^198\.51\.100\.0\/33: Must be an IPv4 subnet/).waitFor()
    })
    await typeInto(page, page.getByRole('textbox', { name: 'Networks' }), '192.0.2.0/24\n198.51.100.0/25\n')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Only these 2 networks are allowed.').waitFor()
    const path = `${account.path}/access_lists`
    const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24', '198.51.100.0/25'] }
    expect((await world.ross.get(path)).data).toEqual(list)

    await tabTo(page, page.getByRole('tab', { name: 'Access list' }))
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    const ask = async (address: string, verdict: string, reason: string) => {
      await typeInto(page, page.getByRole('textbox', { name: 'Address' }), address)
      await pressOn(page, page.getByRole('button', { name: 'Test', exact: true }))
      const told = page.getByRole('status').filter({ hasText: reason })
      await told.getByText(verdict, { exact: true }).waitFor()
    }
    await ask('192.0.2.7', 'Allowed', 'The access lists allow it.')
    await ask('203.0.113.7', 'Blocked', 'The access list of the account blocks this address.')
    await expectForEverybody(page)
    // After the list has changed, the same access test runs again, although an edge may still have the old
    // answer.
    await world.ross.post(path, { ...list, order: 'deny,allow' })
    await ask('203.0.113.7', 'Allowed', 'The access lists allow it.')
    await typeInto(page, page.getByRole('textbox', { name: 'Address' }), 'no address')
    await pressOn(page, page.getByRole('button', { name: 'Test', exact: true }))
    await page.getByText('Must be an IP address').waitFor()
  })

  inFullRun(() => {
    it('warns of a list that blocks every packet, and removes it', async () => {
      const account = await world.account(world.reseller)
      const path = `${account.path}/access_lists`
      await world.ross.post(path, { order: 'allow,deny', cidrs: [] })
      const { page } = await open(world.ross, 'edge', { account })
      await page.getByText(/all packets are blocked/).waitFor()
      await expectForEverybody(page)
      await page.getByRole('button', { name: 'Remove list' }).click()
      const question = page.getByRole('dialog', { name: 'Remove the access list?' })
      await question.getByRole('button', { name: 'Remove list' }).click()
      await page.getByText('No access list: packets from every address are allowed.').waitFor()
      expect((await world.ross.get(path)).data).toEqual({})
    })

    it('shows both versions to the user who saved second, and overwrites nothing unseen', async () => {
      const account = await world.account(world.reseller)
      const path = `${account.path}/access_lists`
      await world.ross.post(path, { order: 'allow,deny', cidrs: ['192.0.2.0/24'] })
      const { page } = await open(world.ross, 'edge', { account })
      const networks = page.getByRole('textbox', { name: 'Networks' })
      await networks.fill('192.0.2.0/25')
      // A change elsewhere in the record causes no conflict.
      await world.ross.post(`${account.path}/rate_limits`, { account: { per_minute: { invites: 7 } } })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved', { exact: true }).waitFor()
      expect((await world.ross.get(path)).data.cidrs).toEqual(['192.0.2.0/25'])
      await networks.fill('192.0.2.0/26')
      await world.ross.post(path, { order: 'allow,deny', cidrs: ['203.0.113.0/24'] })
      await page.getByRole('button', { name: 'Save' }).click()
      const dialog = page.getByRole('dialog', { name: 'Conflicting changes' })
      await dialog.getByText('203.0.113.0/24').waitFor()
      expect((await world.ross.get(path)).data.cidrs).toEqual(['203.0.113.0/24'])
      await dialog.getByRole('button', { name: 'Overwrite with my version' }).click()
      await dialog.waitFor({ state: 'hidden' })
      expect((await world.ross.get(path)).data.cidrs).toEqual(['192.0.2.0/26'])
    })
  })

  inFullRun(() => {
    it('shows what packet limits hold, those of the account and of a device', async () => {
      const device = await world.device(world.acme, { name: 'Limited' })
      const { page } = await open(world.ada, 'edge')
      await page.getByRole('tab', { name: 'Packet limits' }).click()
      const ofAccount = page.getByRole('region', { name: 'All packets of the account' })
      await ofAccount.getByRole('cell', { name: '2,000', exact: true }).waitFor()
      await page.getByRole('textbox', { name: 'INVITEs, Per minute, All packets of the account' }).fill('77')
      await page.getByRole('textbox', { name: 'Registrations, Per second, Packets of each device' }).fill('1')
      await page.getByRole('button', { name: 'Save' }).last().click()
      const limits = {
        account: { per_minute: { invites: 77 } },
        device: { per_second: { registrations: 1 } },
      }
      await eventually(
        () => world.ada.get(`${world.acme.path}/rate_limits`),
        ({ data }) => isDeepStrictEqual(data, limits),
      )
      await ofAccount.getByRole('row', { name: /^INVITEs 77 77 / }).waitFor()
      await expectForEverybody(page)

      await page.getByRole('combobox', { name: 'Applies to' }).fill('Limi')
      await page.getByRole('option', { name: 'Limited' }).click()
      await page.getByRole('tab', { name: 'Packet limits' }).click()
      const ofDevice = page.getByRole('region', { name: 'Packets of this device' })
      await ofDevice.getByRole('cell', { name: '1,000', exact: true }).waitFor()
      await page.getByRole('textbox', { name: 'All packets, Per minute' }).fill('-3')
      await world.unchanged(async () => {
        await page.getByRole('button', { name: 'Save' }).last().click()
        await page.getByText(/at least 0/).waitFor()
      })
      await page.getByRole('textbox', { name: 'All packets, Per minute' }).fill('900')
      await page.getByRole('button', { name: 'Save' }).last().click()
      await ofDevice.getByRole('row', { name: /^All packets 900 900 / }).waitFor()
      expect((await world.ada.get(`${device.path}/rate_limits`)).data).toEqual({
        per_minute: { total_packets: 900 },
      })
      await page.getByRole('button', { name: 'Remove limits' }).click()
      const question = page.getByRole('dialog', { name: 'Remove these limits?' })
      await question.getByRole('button', { name: 'Remove limits' }).click()
      await ofDevice.getByRole('cell', { name: '1,000', exact: true }).waitFor()
      expect((await world.ada.get(`${device.path}/rate_limits`)).data).toEqual({})
    })
  })

  inFullRun(() => {
    it('explains that only accounts above may ask who would pass', async () => {
      const { page } = await open(world.ada, 'edge')
      await page.getByRole('tab', { name: 'Access test' }).click()
      await page.getByText('Only parent accounts can run this test').waitFor()
    })
  })
})
