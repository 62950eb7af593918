import {
  type AccountRecord,
  type Actor,
  isAbove,
  isSuperduper,
  privLevelOf,
  type UserRecord,
} from '../../../auth/identity.ts'
import { badIdentifier, failure, failureKind, forbidden } from '../../../lib/failure.ts'
import { type AttachmentRecord, createAttachment } from '../../../storage/attachment.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import { importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import type { Services } from '../../billing/services/operations.ts'
import {
  type AccountApp,
  type AppsStoreDoc,
  appsFor,
  liftedFrom,
  noApps,
  offeredBy,
  withInstalled,
  withoutInstalled,
  withoutUser,
} from './rules.ts'
import type { Installation } from './schema.ts'
import { appsStoreSettings } from './settings.ts'

const aboutApp = (message: string) => (details: { id: string }) => ({
  status: 400,
  message,
  data: { message, cause: details.id },
})

export const appInstalled = failureKind('app_installed', aboutApp('Application already installed'))

export const appNotInstalled = failureKind('app_not_installed', aboutApp('Application is not installed'))

interface Deps extends DepsOf<'store' | 'settings'> {
  services: Pick<Services, 'rest'>
}

export type AppsStoreRecord = AttachmentRecord<AppsStoreDoc>

export interface AppsSubject {
  /** Undefined before the first change. */
  record: AppsStoreRecord | undefined
  revision?: string
}

export interface AppSubject extends AppsSubject {
  app: AccountApp
}

interface AppChange {
  author: Author
  account: AccountRecord
  subject: AppSubject
}

type Before = AppsStoreRecord | undefined

export type AppsStore = ReturnType<typeof createAppsStore>

export const createAppsStore = ({ store, settings, services }: Deps) => {
  const documents = createAttachment<AppsStoreDoc>(store, 'apps_store')

  const find = (accountId: string) => documents.find({ accountId, id: accountId })

  const subjectOf = async ({ id }: AccountRecord): Promise<AppsSubject> => {
    const record = await find(id)
    return { record, ...(record ? { revision: record.revision } : {}) }
  }

  const save = (
    { author, account }: Pick<AppChange, 'author' | 'account'>,
    before: Before,
    doc: AppsStoreDoc,
  ) => committed(store, author, (set) => documents.put(set, holderOf(account), before, doc))

  const list = async (actor: Actor, account: AccountRecord): Promise<AccountApp[]> => {
    const { apps } = await settings.of(appsStoreSettings)
    const { applications } = await services.rest(account)
    const [own, ...above] = await Promise.all([account.id, ...account.hidden.tree].map(find))
    const viewer = { isAdmin: privLevelOf(actor) === 'admin', userId: actor.user?.id }
    const said = above.flatMap((record) => (record ? [record.doc] : []))
    return appsFor(viewer, offeredBy(applications, apps), own?.doc ?? noApps, said)
  }

  const get = async (actor: Actor, account: AccountRecord, id: string): Promise<AccountApp> => {
    const app = (await list(actor, account)).find((one) => one.id === id)
    if (!app) throw failure(badIdentifier, { cause: id })
    return app
  }

  const install = async (change: AppChange, installed: Installation) => {
    const { app, record } = change.subject
    const after = await save(change, record, withInstalled(record?.doc ?? noApps, app.id, installed))
    return { app: { ...app, installed: after.doc.apps[app.id] }, revision: after.revision }
  }

  const assertInstalled = ({ subject: { app } }: AppChange) => {
    if (!app.installed) throw failure(appNotInstalled, { id: app.id })
  }

  return {
    /** Installed apps of another system. */
    adoption: importingInto(documents.collection, ({ doc }) => ({ doc: { ...noApps, ...doc }, hidden: {} })),

    find,
    list,
    get,

    async subject(actor: Actor, account: AccountRecord, id: string): Promise<AppSubject> {
      const [app, subject] = await Promise.all([get(actor, account, id), subjectOf(account)])
      return { ...subject, app }
    },

    said: subjectOf,

    async install(change: AppChange, installed: Installation) {
      const { app } = change.subject
      if (app.installed) throw failure(appInstalled, { id: app.id })
      return install(change, installed)
    },

    async allow(change: AppChange, installed: Installation) {
      assertInstalled(change)
      return install(change, installed)
    },

    async uninstall(change: AppChange) {
      assertInstalled(change)
      const { app, record } = change.subject
      return save(change, record, withoutInstalled(record?.doc ?? noApps, app.id))
    },

    /** Only the parent account that blacklisted an app can lift it. */
    async hide(
      change: Pick<AppChange, 'author' | 'account'> & { actor: Actor; subject: AppsSubject },
      blacklist: readonly string[],
    ) {
      const { actor, account, subject } = change
      const before = subject.record?.doc ?? noApps
      const isFromAbove = isSuperduper(actor) || isAbove(actor, account)
      const lifted = isFromAbove ? [] : liftedFrom(before, blacklist)
      if (lifted.length > 0) {
        const cause = `a parent account put these on the blacklist: ${lifted.join(', ')}`
        throw failure(forbidden, { cause })
      }
      const imposed = isFromAbove ? blacklist : before.imposed
      return save(change, subject.record, { ...before, blacklist, imposed })
    },

    /** Removes a user who is being deleted from all apps. */
    async forget(set: ChangeSet, user: UserRecord) {
      const record = await find(user.accountId)
      const doc = record && withoutUser(record.doc, user.id)
      if (record && doc) documents.put(set, record, record, doc)
    },
  }
}
