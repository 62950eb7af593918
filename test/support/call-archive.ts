// The archive of call records around a bare store, for tests of how it is read.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createArchiveFiles } from '../../src/areas/cdrs/archive/files.ts'
import { createArchiveMetrics } from '../../src/areas/cdrs/archive/metrics.ts'
import { createCallArchive } from '../../src/areas/cdrs/archive/operations.ts'
import { createArchiveReading } from '../../src/areas/cdrs/archive/reading.ts'
import { createArchiveRegister } from '../../src/areas/cdrs/archive/store.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { openDirectory } from '../../src/object-store/directory.ts'
import type { ObjectStore } from '../../src/object-store/object-store.ts'
import type { Settings } from '../../src/settings/settings.ts'
import type { Store } from '../../src/storage/store.ts'
import { createTestLog } from './log.ts'

const oldest = { of: async () => ({ archive_after_months: 1 }) } as unknown as Settings

/** Nobody else does the work. */
const guard = { sql: 'DELETE FROM rounds WHERE name = $1', params: ['nobody'] }

/** An archive in a directory, or in `objects`. */
export const archiveAround = (store: Store, objects?: ObjectStore) => {
  // Small enough that few records fill several.
  const sizes = { recordsPerGroup: 5, mostRecords: 12, mostBytes: 1_000_000 }
  const folder = mkdtempSync(join(tmpdir(), 'call-archive-'))
  const place = objects ?? openDirectory(folder)
  const { log, errors } = createTestLog()
  const register = createArchiveRegister(store)
  const metrics = createArchiveMetrics(createMetrics())
  const files = createArchiveFiles({ objects: place, register, metrics, log })
  const { round } = createCallArchive({
    store,
    settings: oldest,
    objects: place,
    register,
    files,
    metrics,
    log,
    sizes,
  })
  return {
    folder,
    register,
    reading: createArchiveReading(register, files),
    /** Moves every month that is over to files. */
    async archive() {
      await round.run(new AbortController().signal, guard)
      const failed = errors()
      if (failed.length > 0) throw new Error(JSON.stringify(failed))
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
