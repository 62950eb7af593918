import { type AccountRecord, accountKind, type UserRecord } from '../../../auth/identity.ts'
import type { Job, JobKind } from '../../../jobs/queue.ts'
import { newId } from '../../../lib/ids.ts'
import { addressOf, recipient } from '../../../mail/mail.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import type { Users } from '../users/operations.ts'
import { newUserNotice } from './notices.ts'
import type { Resets } from './recovery.ts'
import { linkSeconds, namedHost, recoveryLink, welcomeValues } from './rules.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'mail'> {
  resets: Resets
  users: Pick<Users, 'find'>
  brands: {
    /** The portal host of the nearest brand, once its DNS is set up. */
    portalOf(account: AccountRecord): Promise<string | undefined>
  }
}

interface Newcomer {
  userId: string
  author: Author
}

const welcomeKind = 'new_user'

/** Sends each new user an email with a link for a password. */
export const createWelcome = ({ store, settings, mail, resets, users, brands }: Deps) => {
  const linkFor = async (set: ChangeSet, user: UserRecord, host: string | undefined) => {
    if (host === undefined || user.doc.enabled === false) return undefined
    const reset = await resets.addTo(set, user, { lifetimeSeconds: linkSeconds })
    return reset && recoveryLink(`https://${host}/`, reset.resetId)
  }

  const mailIn = async ({ accountId, payload }: Job<Newcomer>, host: string | undefined) => {
    const set = new ChangeSet(payload.author)
    const account = await store.records.find(accountId, accountKind, accountId)
    const user = await users.find(accountId, payload.userId)
    const address = user && addressOf(user.doc)
    if (!account || !address || !(await mail.templates.of(account, 'new_user')).isEnabled) return set
    const link = await linkFor(set, user, host)
    await mail.notify(set, {
      notice: newUserNotice,
      account,
      to: [recipient(address, account, user)],
      values: welcomeValues(user.doc, address, link),
      ...(link === undefined ? {} : { goodForSeconds: linkSeconds }),
    })
    return set
  }

  const job: JobKind<Newcomer, string | undefined> = {
    kind: welcomeKind,
    async ask({ accountId }) {
      const account = await store.records.find(accountId, accountKind, accountId)
      const { recovery_ui_hosts: hosts } = await settings.of(crossbarSettings)
      return account && ((await brands.portalOf(account)) ?? namedHost(hosts))
    },
    async conclude(job, host) {
      const set = await mailIn(job, host)
      // An email without a link changes no records.
      return { state: 'forgotten', ...(set.changes.length > 0 ? { sets: [set] } : { jobs: set.jobs }) }
    },
  }

  return {
    /** Adds a welcome job for a user with an email address. */
    addTo(set: ChangeSet, { accountId, id, doc }: UserRecord) {
      if (!addressOf(doc)) return
      const payload: Newcomer = { userId: id, author: set.author }
      set.job({ kind: welcomeKind, id: newId(store.clock.now()), accountId, payload })
    },

    job,
  }
}
