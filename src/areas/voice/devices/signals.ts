import { signal } from '../../../storage/signal.ts'
import type { DeviceRecord } from './store.ts'

export const deviceChanged = signal<{ before: DeviceRecord | undefined; after: DeviceRecord }>(
  'device changed',
)

/** Also if the owner is deleted. */
export const deviceDeleted = signal<DeviceRecord>('device leaving')
