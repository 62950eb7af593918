// Operations that never succeed: clients of Kazoo know their paths.

import type { World } from '../world/world.ts'
import { onAccount, type Recorder } from './example-recorder.ts'

export const recordRefusals = async (world: World, { recordRefusal }: Recorder) => {
  const { operator, acme, uli } = world
  const device = await world.device(acme, { name: 'Desk' })
  const ids = { account_id: acme.id, user_id: uli.id, device_id: device.id }
  const refuse = (name: string, more = {}) => recordRefusal(operator, name, { ...ids, ...more })

  const config = `${onAccount}/system_configs/{config_id}`
  const names = { config_id: 'crossbar', section: 'default' }
  await refuse(`GET ${onAccount}/system_configs`)
  for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE']) await refuse(`${method} ${config}`, names)
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    await refuse(`${method} ${config}/{section}`, names)

  for (const method of ['GET', 'POST', 'DELETE'])
    await refuse(`${method} ${onAccount}/users/{user_id}/access_lists`)
  await refuse(`GET ${onAccount}/devices/{device_id}/cdrs`)
  await refuse(`PUT ${onAccount}/transactions/{transaction_id}`, { transaction_id: '202601-sample' })
}
