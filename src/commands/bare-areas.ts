import type { Area, AreaDeps } from '../areas/area.ts'
import { assemble, declarationsOf } from '../areas/assemble.ts'
import { areas } from '../areas/index.ts'

// Making areas only hands the parts on; none is used before an operation asks for it.
const unused: never = new Proxy(() => unused, {
  // Texts are put together of some of them.
  get(_target, key) {
    // It would be waited for without an end.
    if (key === 'then') throw new Error('an operation needs a part that this command does not have')
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
  rounds: unused,
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

/** The areas without a server around them. Only operations that need no more than these tools may be used. */
export const bareAreas = <const More extends readonly Area[] = []>(
  tools: Partial<AreaDeps> = {},
  ...more: More
) => assemble([...areas, ...more], { ...nothing, ...tools })
