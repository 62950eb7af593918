import { kazooArea } from '../../import-kazoo/area.ts'
import { openLeavingFolder } from '../../import-kazoo/leaving/folder.ts'
import { leavingJson, leavingText } from '../../import-kazoo/leaving/report.ts'
import { createKeyring, readServerKey } from '../auth/keyring.ts'
import { configFromEnvironment } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { createMetrics } from '../lib/metrics.ts'
import { openObjectStore } from '../object-store/open.ts'
import { createSettings } from '../settings/settings.ts'
import { Refusal } from '../storage/saved-store.ts'
import { bareAreas } from './bare-areas.ts'
import { createCommandLog } from './command-log.ts'
import { createTold } from './kazoo-told.ts'
import { openStore } from './open-store.ts'
import { tellingRefusals } from './refusals.ts'
import { status } from './statuses.ts'

/** Writes everything into a folder, as documents that a Kazoo takes; answers with the status. */
export const exportKazoo = (directory: string, { json = false }: { json?: boolean }): Promise<number> =>
  tellingRefusals(async () => {
    const config = configFromEnvironment()
    process.umask(0o077)
    const serverKey = readServerKey(config.dataDir)
    if (!serverKey) throw new Refusal('there is no store yet: start the server once')
    const { store, close } = await openStore(config, systemClock)
    try {
      const { offers } = bareAreas(
        {
          store,
          settings: createSettings(store.records, 'command'),
          keyring: createKeyring(serverKey),
          log: createCommandLog(config, 'warn'),
          metrics: createMetrics(),
          callArchive: openObjectStore(config.callArchive),
        },
        kazooArea,
      )
      const folder = await openLeavingFolder(directory)
      const report = await offers.kazoo.leave(folder, createTold())
      process.stdout.write(
        json ? `${JSON.stringify(leavingJson(directory, report))}\n` : leavingText(directory, report),
      )
      return status.done
    } finally {
      await close()
    }
  })
