// What an open page shows of what happens while its line is slow, or broken.
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, it } from 'vitest'
import { useConsole } from '../support/console.ts'
import { legOf, nowOf, sendLegs } from '../support/legs.ts'
import { openStreamWay } from '../support/stream-way.ts'
import { describeEngines, type Person } from '../support/world.ts'

describeEngines('an open page of the console', (engine) => {
  const { world, open } = useConsole(engine)
  let way: Awaited<ReturnType<typeof openStreamWay>>
  const pages: Page[] = []

  beforeEach(async () => {
    way = await openStreamWay(world.server.port)
  })
  // The page goes first: it says so when the way is gone.
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close()
    await way.close()
  })

  const openByWay = async (person: Person, screen: string) => {
    const { page } = await open(person, screen)
    pages.push(page)
    await page.goto(`${way.url}/a/${person.account.id}/${screen}`)
    return page
  }

  const state = (page: Page, name: string) => page.getByRole('status').getByText(name, { exact: true })

  it('shows what happened between its first reading and the beginning of the events', async () => {
    way.holdStreams()
    const page = await openByWay(world.ada, 'users')
    await page.getByRole('link', { name: /Uli/ }).waitFor()
    await state(page, 'Connecting').waitFor()
    await world.user(world.acme, { first_name: 'Meanwhile', last_name: 'Made' })
    way.letStreamsGo()
    await page.getByRole('link', { name: /Meanwhile/ }).waitFor()
  })

  it('does not take for new what was read before the events began, and came after', async () => {
    way.holdStreams()
    const list = way.holdAnswer(`${world.acme.path}/users`)
    const page = await openByWay(world.ada, 'users')
    await list.arrived
    await world.user(world.acme, { first_name: 'Between', last_name: 'Both' })
    way.letStreamsGo()
    await state(page, 'Live').waitFor()
    list.letGo()
    await page.getByRole('link', { name: /Between/ }).waitFor()
  })

  it('shows after a broken line also what no event tells of', async () => {
    const page = await openByWay(world.ada, 'calls')
    await page.getByText('No calls in these days', { exact: false }).waitFor()
    await state(page, 'Live').waitFor()
    way.holdStreams()
    way.breakStreams()
    await state(page, 'Connecting').waitFor()
    await sendLegs(world, [legOf(world.acme, nowOf(world) - 60, { callee_id_number: '2047' })])
    way.letStreamsGo()
    await page.getByRole('cell', { name: '2047' }).waitFor()
  })
})
