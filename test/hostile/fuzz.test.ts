// A bounded form of `npm run attack` with the seed of the run. `npm run test:all` adds a seed that is always the same, so
// that a fault found once stays away.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { attack } from '../../attack/campaign.ts'
import { unknownPolicies } from '../../attack/model.ts'
import { readRoutes } from '../../attack/routes.ts'
import { startTarget, type Target } from '../../attack/server.ts'
import { seed } from '../fuzz/chance.ts'
import { nodeOptions } from '../support/run/program.ts'
import { countOf, isFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

const requests = countOf(150, 2500)
const drawn = [`drawn for this run: ${seed}`, seed] as const
const seeds = isFullRun ? [['that is always the same', 1] as const, drawn] : [drawn]

describeAnyEngine('fuzzed requests of all callers to all routes', (engine) => {
  let place: Place
  let names: DnsServer
  let target: Target

  beforeEach(async () => {
    place = await makePlace(engine)
    names = await startDnsServer()
    target = await startTarget({ ...place, dnsServer: names.text, nodeOptions: nodeOptions('') })
  })

  afterEach(async () => {
    await target?.stop()
    await names?.close()
    await place?.remove()
  })

  it.each(seeds)(
    'grant no access, leak nothing and get clear responses, with a seed %s',
    async (_title, seed) => {
      const { faults, statuses } = await attack({
        target,
        seed,
        roundSize: requests,
        mostRequests: requests,
        // A busy machine must not end a round early.
        mostMilliseconds: Number.POSITIVE_INFINITY,
        killer: undefined,
        say: () => undefined,
      })
      expect(faults).toEqual([])
      // The walk is worth something only if much of it reaches the inside. Few requests make something (5 to 16 of 2500):
      // no drawn seed has to.
      expect(statuses.get(200)).toBeGreaterThan(requests / 10)
      expect(statuses.get(400)).toBeGreaterThan(requests / 50)
    },
  )
})

it('are checked by a model that knows every policy', () => {
  expect(unknownPolicies(readRoutes().operations)).toEqual([])
})
