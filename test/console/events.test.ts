// Changes, events and their receivers in the console.
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, openTab, pressOn, typeInto } from '../support/servers/browser.ts'
import { answerWith, startHookReceiver } from '../support/servers/hook-receiver.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('events in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are shown as sentences, with values before and after, by keyboard alone', async () => {
    const device = await world.device(world.acme, { name: 'Hall' })
    await world.ada.patch(device.path, { name: 'Lobby' })
    const { page } = await open(world.ada, 'events')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'Ada Admin changed phone Lobby' }))
    const changes = page.getByRole('table', { name: 'Changes' })
    await changes.getByRole('row', { name: /Name.*Hall.*Lobby/ }).waitFor()
    await expectForEverybody(page)
  })

  inFullRun(() => {
    it('are found by what was done, by keyboard alone', async () => {
      const device = await world.device(world.acme, { name: 'Gone soon' })
      await world.ada.delete(device.path)
      const { page } = await open(world.ada, 'events')
      const read = page.waitForResponse((one) => /\/audit\?.*action=deleted/.test(one.url()))
      await choose(page, page.getByRole('combobox', { name: 'Action' }), 'Deleted')
      await (await read).finished()
      await page.getByRole('link', { name: 'Ada Admin deleted phone Gone soon' }).waitFor()
      await expect.poll(() => page.getByRole('link', { name: /created|changed/ }).count()).toBe(0)
    })
  })

  it('are shown as they happen', async () => {
    const { page } = await open(world.ada, 'events/live')
    await page.getByText('Live: new events appear here.').waitFor()
    await world.device(world.acme, { name: 'Just now' })
    await pressOn(page, page.getByRole('button', { name: 'device.created' }))
    await page.getByText('"name": "Just now"').waitFor()
    await expectForEverybody(page)
  })

  inFullRun(() => {
    it('go to webhooks: one is refused at a private address, made, tried and read of, by keyboard alone', async () => {
      const receiver = await startHookReceiver()
      await world.configure('crossbar', { allowed_private_hosts: [] })
      const { page } = await open(world.ada, 'events/webhooks')
      await pressOn(page, page.getByRole('link', { name: 'New webhook' }).first())
      await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Billing')
      const uri = page.getByRole('textbox', { name: /^URL/ })
      await typeInto(page, uri, 'http://169.254.169.254/latest')
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Create' }))
        await uri.and(page.locator('[aria-invalid=true]')).waitFor()
      })
      await expectForEverybody(page)
      await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
      await typeInto(page, uri, receiver.url)
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByRole('heading', { level: 1, name: 'Billing' }).waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Send test event' }))
      await page.getByText(/The receiver answered 200 after/).waitFor()
      await openTab(page, 'Delivery attempts')
      await page.getByRole('cell', { name: '200' }).waitFor()
      await expectForEverybody(page)
      await receiver.close()
    })
  })
})

describeAnyEngine('webhook deliveries in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine, undefined, undefined, {
    hasTimedJobs: true,
  })

  it('that failed are found and sent again, by keyboard alone', async () => {
    const receiver = await startHookReceiver()
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
    const account = await world.account()
    const hooks = `${account.path}/webhooks`
    const hook = { name: 'Ordering', uri: receiver.url, hook: 'device.*', retries: 0 }
    expect(await world.operator.put(hooks, hook)).toSucceed()
    receiver.answers(answerWith(404, 'no such order'))
    await world.device(account, { name: 'Till' })
    await eventually(
      () => world.operator.get(`${hooks}/attempts`),
      ({ data }) => data.length === 1,
    )
    const { page } = await open(world.operator, 'events/deliveries', { account })
    const failed = page.getByRole('row', { name: /Ordering .* device\.created 404/ })
    await failed.waitFor()
    await expectForEverybody(page)
    await pressOn(page, failed.getByRole('button').first())
    const details = page.getByRole('dialog', { name: 'Delivery attempt' })
    await details.getByText('no such order', { exact: false }).waitFor()
    await page.keyboard.press('Escape')
    await details.waitFor({ state: 'detached' })
    receiver.answers(answerWith(200, 'ok'))
    await pressOn(page, failed.getByRole('button', { name: 'Send device.created again' }))
    await page.getByText('The event is being sent again').waitFor()
    await expect.poll(() => receiver.calls.length).toBe(2)
    await eventually(
      () => world.operator.get(`${hooks}/attempts`),
      ({ data }) => data.length === 2,
    )
    await pressOn(page, page.getByRole('switch', { name: 'Failed only' }), 'Space')
    await failed.waitFor()
    await expect.poll(() => page.getByRole('row', { name: /device\.created 200/ }).count()).toBe(0)
    await receiver.close()
  })
})
