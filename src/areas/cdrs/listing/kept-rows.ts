import type { Metrics } from '../../../lib/metrics.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { GenerationOf } from '../../../storage/generations.ts'
import { createRecentlyUsed } from '../../../storage/recently-used.ts'
import type { RowView } from '../sheet/columns.ts'
import { cdrKind, cdrRowKind } from './stale.ts'

const rowsBytes = 24_000_000

/** Rows of an account as somebody sees them. */
export interface RowsOfView {
  find(id: string): Uint8Array | undefined
  /** Keeps the row of a leg that was read after these were asked for. */
  keep(id: string, text: string): Uint8Array
}

export type KeptRows = ReturnType<typeof createKeptRows>

/** Rows of lists, made once and kept as bytes: what of a leg is stored hardly ever changes. */
export const createKeptRows = (generationOf: GenerationOf, metrics: Metrics, maxBytes = rowsBytes) => {
  const kept = createRecentlyUsed<Uint8Array>(maxBytes)
  const lookups = { hit: 0, miss: 0 }
  metrics.counted(
    {
      name: 'crosspoint_call_row_cache_lookups_total',
      help: 'Rows of call records for pages that are asked for again, by whether they were at hand.',
      labels: ['result'],
    },
    () => Object.entries(lookups).map(([result, value]) => ({ labels: [result], value })),
  )
  metrics.gauge(
    {
      name: 'crosspoint_call_row_cache_bytes',
      help: 'Bytes that kept rows of call records take.',
      isOfThread: true,
    },
    kept.bytes,
  )

  return {
    of(accountId: string, view: RowView): RowsOfView {
      const { utcOffset, forReseller, omitsEmpty } = view
      const generations = [generationOf(accountId, cdrRowKind), generationOf(systemScope, cdrKind)]
      const shown = [utcOffset, Number(forReseller), Number(omitsEmpty)]
      const place = [accountId, ...generations, ...shown, ''].join('/')
      return {
        find(id) {
          const row = kept.find(place + id)?.value
          lookups[row ? 'hit' : 'miss'] += 1
          return row
        },
        keep(id, text) {
          const key = place + id
          const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
          bytes.write(text)
          kept.keep(key, { value: bytes, bytes: bytes.length + 2 * key.length })
          return bytes
        },
      }
    },
  }
}
