// The archive of call records around a bare store, for tests of how it is read.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createArchiveFiles, createArchiveMetrics } from '../../../src/areas/calls/cdrs/archive/files.ts'
import { createCallArchive } from '../../../src/areas/calls/cdrs/archive/operations.ts'
import { createArchiveReading } from '../../../src/areas/calls/cdrs/archive/reading.ts'
import { createArchiveRegister } from '../../../src/areas/calls/cdrs/archive/store.ts'
import type { CdrRow } from '../../../src/areas/calls/cdrs/columns.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import type { ObjectStore } from '../../../src/object-store/object-store.ts'
import { openDirectory } from '../../../src/object-store/open.ts'
import type { Settings } from '../../../src/settings/settings.ts'
import { ChangeSet, conflict } from '../../../src/storage/change-set.ts'
import type { Statement } from '../../../src/storage/db.ts'
import type { Store } from '../../../src/storage/store.ts'
import { createTestLog } from '../run/log.ts'

/** Lays records into the store, each into the month of its id. */
export const insertLegs = async ({ cdrs, commit }: Store, rows: readonly CdrRow[]) => {
  const set = new ChangeSet({ requestId: 'test' })
  const archived = await cdrs.archivedMonths()
  for (const [month, members] of Map.groupBy(rows, ({ id }) => Number(id.slice(0, 6))))
    await cdrs.insert(set, month, members, { isArchived: archived.has(month), orElse: conflict })
  set.record({ accountId: rows[0]?.account_id ?? '', kind: 'cdrs', id: 'x', action: 'created' })
  if (rows.length > 0) await commit(set)
}

const oldest = { of: async () => ({ archive_after_months: 1 }) } as unknown as Settings

/** A guard statement without effect. */
export const guard = { sql: 'DELETE FROM scheduled_jobs WHERE name = $1', params: ['nobody'] }

/** An archive in a directory, or in `objects`; or in a directory of which `changed` makes something else. */
export const archiveAround = (
  store: Store,
  objects?: ObjectStore,
  changed = (directory: ObjectStore): ObjectStore => directory,
) => {
  // Small enough that few records fill several.
  const sizes = { recordsPerGroup: 5, maxRecords: 12, maxBytes: 1_000_000 }
  const folder = mkdtempSync(join(tmpdir(), 'call-archive-'))
  const place = objects ?? changed(openDirectory(folder))
  const { log, errors } = createTestLog()
  const register = createArchiveRegister(store)
  const metrics = createArchiveMetrics(createMetrics())
  const files = createArchiveFiles({ objects: place, register, metrics, log })
  const { job } = createCallArchive({
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
    objects: place,
    register,
    files,
    reading: createArchiveReading(register, files),
    /** Moves every month that is over to files. */
    async archive(by: Statement = guard) {
      await job.run(new AbortController().signal, by)
      const failed = errors()
      if (failed.length > 0) throw new Error(JSON.stringify(failed))
    },
    async remove() {
      await files.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
