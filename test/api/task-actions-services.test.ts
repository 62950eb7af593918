// The task services.descendant_quantities.
import { expect, it } from 'vitest'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('tasks of the category services', (engine) => {
  const world = useWorld(engine)
  const settle = () => world.server.scheduler.runNow('quantities')

  it('list what each account below had when months began and ended', async () => {
    const parent = await world.account()
    const [near, far] = await world.chain(2, parent)
    if (!far) throw new Error('a chain of two')
    await world.device(near)
    await settle()
    world.clock.advance({ hours: 24 * 31 })
    const operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
    await operator.put(`${near.path}/devices`, { name: 'Second' })
    await settle()
    world.clock.advance({ hours: 24 * 28 })
    const later = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
    const { task, output } = await runTask({
      by: later,
      path: parent.path,
      category: 'services',
      action: 'descendant_quantities',
    })
    expect(task.status).toBe('success')
    expect(output[0]).toBe('account_id,year,month,category,item,quantity_bom,quantity_eom')
    const rows = rowsOf(output).map((row) => Object.values(row).join(' '))
    expect(rows.toSorted()).toEqual(
      [
        `${near.id} 2026 01 accounts account  1`,
        `${near.id} 2026 01 devices sip_device  1`,
        `${near.id} 2026 02 accounts account 1 1`,
        `${near.id} 2026 02 devices sip_device 1 2`,
        `${near.id} 2026 03 accounts account 1 `,
        `${near.id} 2026 03 devices sip_device 2 `,
        `${far.id} 2026 01 accounts account  1`,
        `${far.id} 2026 02 accounts account 1 1`,
        `${far.id} 2026 03 accounts account 1 `,
      ].toSorted(),
    )
  })
})
