// Trunks of customers in the console.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

const textbox = (page: Page, name: string | RegExp) => page.getByRole('textbox', { name })

const press = (page: Page, name: string) => pressOn(page, page.getByRole('button', { name, exact: true }))

const optionDefaults = { enabled: true, inbound_format: 'npan', delay: 0 }

describeAnyEngine('trunks in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  const own = async (account: TestAccount, number: string) => {
    const path = `${account.path}/phone_numbers/${encodeURIComponent(number)}`
    expect((await world.operator.put(path, {})).status).toBe(201)
    return path
  }

  it('are added with a server and its number by keyboard, and a server without a user is refused', async () => {
    const number = await own(world.acme, '+14155550171')
    const { page } = await open(world.ada, 'trunks')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New trunk' }))
    await typeInto(page, textbox(page, /^Name/), 'Head office')
    const server = page.getByRole('group', { name: 'Server 1' })
    await typeInto(page, server.getByRole('textbox', { name: 'Server name' }), 'PBX')
    await typeInto(page, server.getByRole('combobox', { name: 'Numbers' }), '+14155550171')
    await page.keyboard.press('Enter')
    const user = server.getByRole('textbox', { name: 'SIP user name' })
    await world.unchanged(async () => {
      await press(page, 'Create')
      await user.and(page.locator('[aria-invalid=true]')).waitFor()
    })
    await typeInto(page, user, 'pbx')
    await typeInto(page, server.getByLabel('SIP password'), 'a-password')
    await expectForEverybody(page)
    await press(page, 'Create')
    await page.getByRole('heading', { level: 1, name: 'Head office' }).waitFor()
    const path = `${world.acme.path}/connectivity/${page.url().split('/').at(-1)}`
    expect((await world.ada.get(path)).data).toEqual({
      id: page.url().split('/').at(-1),
      name: 'Head office',
      servers: [
        {
          server_name: 'PBX',
          auth: { auth_method: 'Password', auth_user: 'pbx', auth_password: 'a-password' },
          DIDs: { '+14155550171': {} },
        },
      ],
    })
    expect((await world.ada.get(number)).data.used_by).toBe('trunkstore')
    await press(page, 'Delete trunk')
    const question = page.getByRole('dialog', { name: 'Delete this trunk?' })
    await question.getByText('1 number leads nowhere then.', { exact: false }).waitFor()
    await pressOn(page, question.getByRole('button', { name: 'Delete trunk' }))
    await page.getByRole('heading', { level: 1, name: 'Trunks' }).waitFor()
    expect((await world.ada.get(path)).status).toBe(404)
  })

  inFullRun(() => {
    it('are listed with servers and numbers, and get a second server that is known by its address', async () => {
      await own(world.acme, '+14155550172')
      const first = {
        server_name: 'Main',
        auth: { auth_user: 'main', auth_password: 'a-password' },
        DIDs: { '+14155550172': { failover: { e164: '+14155550199' } } },
      }
      const { data } = await world.ada.put(`${world.acme.path}/connectivity`, {
        name: 'Branch',
        servers: [first],
      })
      const path = `${world.acme.path}/connectivity/${data.id}`
      const { page } = await open(world.ada, 'trunks')
      await page.getByRole('row').filter({ hasText: 'Branch' }).filter({ hasText: 'Main' }).waitFor()
      await pressOn(page, page.getByRole('link', { name: 'Branch' }))
      await page.getByText('1 number leads to this trunk.').waitFor()
      await expectForEverybody(page)
      await press(page, 'Add server')
      const second = page.getByRole('group', { name: 'Server 2' })
      await typeInto(page, second.getByRole('textbox', { name: 'Server name' }), 'Spare')
      await tabTo(page, second.getByRole('radio', { name: 'Password' }))
      await page.keyboard.press('ArrowRight')
      await typeInto(page, second.getByRole('textbox', { name: 'IP address' }), '203.0.113.50')
      await pressOn(page, second.getByRole('button', { name: 'More settings' }))
      await typeInto(page, second.getByRole('textbox', { name: 'Failover number' }), '+14155550198')
      await press(page, 'Save')
      await page.getByText('Saved', { exact: true }).waitFor()
      const [kept] = data.servers
      expect((await world.ada.get(path)).data).toEqual({
        ...data,
        servers: [
          kept,
          {
            server_name: 'Spare',
            auth: { auth_method: 'IP', ip: '203.0.113.50' },
            options: { ...optionDefaults, failover: { e164: '+14155550198' } },
          },
        ],
      })
    })

    it('show which number of a server is used elsewhere', async () => {
      await own(world.acme, '+14155550173')
      const callflow = { numbers: ['+14155550173'], flow: { module: 'response', data: {}, children: {} } }
      expect((await world.ada.put(`${world.acme.path}/callflows`, callflow)).status).toBe(201)
      const { page } = await open(world.ada, 'trunks/new')
      const server = page.getByRole('group', { name: 'Server 1' })
      await typeInto(page, server.getByRole('textbox', { name: 'SIP user name' }), 'elsewhere')
      await typeInto(page, server.getByRole('combobox', { name: 'Numbers' }), '+14155550173')
      await page.keyboard.press('Enter')
      await world.unchanged(async () => {
        await press(page, 'Create')
        await server.getByText('+14155550173: The phone number is used by callflow').waitFor()
      })
    })
  })
})
