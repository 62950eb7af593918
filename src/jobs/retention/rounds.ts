import { dayMs, daySeconds, gregorianNow } from '../../lib/gregorian.ts'
import { timeKey } from '../../lib/time-key.ts'
import { authSettings, eventSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import type { SignInBuckets } from '../../storage/sign-in-buckets.ts'
import type { Store } from '../../storage/store.ts'
import type { ScheduledJob } from '../rounds.ts'
import { deleteOldRows } from './old-rows.ts'
import { createRetentionStore } from './store.ts'

// Retention of what no area owns.

const hourSeconds = 3600

export const retentionJobs = (
  store: Store,
  settings: Settings,
  signInBuckets: SignInBuckets | undefined,
): ScheduledJob[] => {
  const rows = createRetentionStore(store)
  const { clock } = store

  return [
    {
      name: 'login attempts',
      everySeconds: hourSeconds,
      async run(signal) {
        const { login_attempt_days: days } = await settings.of(authSettings)
        await rows.forgetRecords('login_attempt', timeKey(gregorianNow(clock) - days * daySeconds), signal)
      },
    },
    {
      name: 'ended tokens',
      everySeconds: hourSeconds,
      // Sorted by the Unix seconds of their expiry.
      run: (signal) =>
        rows.forgetRecords('revoked_token', String(Math.floor(clock.now() / 1000)).padStart(16, '0'), signal),
    },
    {
      name: 'sign-in buckets',
      everySeconds: hourSeconds,
      run: async (signal) => signInBuckets?.forgetFull(signal),
    },
    {
      name: 'events',
      everySeconds: daySeconds,
      async run(signal) {
        const { events_retention_days: days } = await settings.of(eventSettings)
        if (days > 0) await rows.forgetEvents(clock.now() - days * dayMs, signal)
      },
    },
    {
      name: 'leftovers',
      everySeconds: daySeconds,
      async run(signal) {
        await rows.forgetOrphans(signal)
      },
    },
    deleteOldRows(store, {
      name: 'old leases',
      everySeconds: daySeconds,
      table: 'leases',
      key: ['name'],
      where: 'expires_at < $1',
      before: () => clock.now() - dayMs,
    }),
  ]
}
