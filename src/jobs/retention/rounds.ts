import { dayMs, daySeconds, gregorianNow } from '../../lib/gregorian.ts'
import { timeKey } from '../../lib/time-key.ts'
import { authSettings, eventSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import type { SignInBuckets } from '../../storage/sign-in-buckets.ts'
import type { Store } from '../../storage/store.ts'
import type { ScheduledJob } from '../rounds.ts'
import { deleteOldRows } from './old-rows.ts'
import { createRetentionStore } from './store.ts'

// How long what only tells of the past is kept. What areas keep themselves they let go themselves.

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
      // Their order is that of the Unix seconds at which they would have ended by themselves.
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
    // Of processes that died, and of work that ended long ago.
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
