import type { Area, AreaDeps } from '../areas/area.ts'
import { assemble, declarationsOf } from '../areas/assemble.ts'
import { areas } from '../areas/index.ts'

// Creating the areas only passes these on.
const unused: never = new Proxy(() => unused, {
  // Some areas build texts from them.
  get(_target, key) {
    // A promise with this `then` would never settle.
    if (key === 'then') throw new Error('an operation needs a part that this command does not create')
    return key === Symbol.toPrimitive ? () => '' : unused
  },
}) as never

const nothing: AreaDeps = {
  declared: declarationsOf(areas),
  store: unused,
  settings: unused,
  keyring: unused,
  deriver: unused,
  tokens: unused,
  node: '',
  validate: unused,
  tlsProblems: unused,
  mail: unused,
  dns: unused,
  afterwards: unused,
  leases: unused,
  scheduler: unused,
  queue: unused,
  feed: unused,
  refusals: unused,
  log: unused,
  metrics: unused,
  outgoing: unused,
  calls: unused,
  callArchive: undefined,
  mediaSwitch: unused,
}

/** The areas without a server. Operations may use only the given tools. */
export const bareAreas = <const More extends readonly Area[] = []>(
  tools: Partial<AreaDeps> = {},
  ...more: More
) => assemble([...areas, ...more], { ...nothing, ...tools })
