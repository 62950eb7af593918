import { signal } from '../../../storage/signal.ts'
import type { DeviceRecord } from './store.ts'

/** A device is made, or its document changes. */
export const deviceChanged = signal<{ before: DeviceRecord | undefined; after: DeviceRecord }>(
  'device changed',
)

/** A device is removed: by itself, or with its owner. */
export const deviceDeleted = signal<DeviceRecord>('device leaving')
