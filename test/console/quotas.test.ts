// What an account uses of its quotas, in the console.
import { it } from 'vitest'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('quotas in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are shown with their use, and lead the operator to the settings', async () => {
    const account = await world.account()
    await world.device(account)
    await world.configure('quotas', { records_of_kind: { device: 2 } })
    const { page } = await open(world.operator, 'quotas', { account })
    const phones = page.getByRole('region', { name: 'Phones' })
    await phones.getByText('1 of 2').waitFor()
    await phones.getByRole('progressbar', { name: 'Phones' }).waitFor()
    await expectForEverybody(page)
    await page.getByRole('link', { name: 'Change quotas' }).click()
    await page.waitForURL(`**/a/${world.master.id}/system/settings/quotas`)
  })
})
