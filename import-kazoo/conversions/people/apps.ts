import { appIdForm, maxBlacklisted, maxUsers } from '../../../src/areas/brand/apps-store/rules.ts'
import { isId } from '../../../src/lib/ids.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { imported, notesOf } from '../findings.ts'

const appId = new RegExp(appIdForm)
const audiences: readonly unknown[] = ['all', 'admins', 'specific']

const isAppId = (value: unknown): value is string => typeof value === 'string' && appId.test(value)

const usersOf = ({ users: listed }: Json, users: ReadonlySet<string>) => {
  const ids = (Array.isArray(listed) ? listed : []).map((user) => (isObject(user) ? user.id : user))
  const known = ids.filter((id) => isId(id) && users.has(id))
  return [...new Set(known)].slice(0, maxUsers).map((id) => ({ id }))
}

/** Who has an app; of one that says it otherwise, everybody. */
const installedOf = (app: unknown, users: ReadonlySet<string>): Json => {
  const said = isObject(app) ? app : {}
  return {
    allowed_users: audiences.includes(said.allowed_users) ? said.allowed_users : 'all',
    users: said.allowed_users === 'specific' ? usersOf(said, users) : [],
  }
}

/**
 * The apps that an account has installed, and those it hides. Operators describe apps here under names of their own: an app
 * is known by the id that it had, and by its name.
 */
export const convertApps = (
  document: KazooDocument,
  { accountId, users }: { accountId: string; users: ReadonlySet<string> },
): Converted => {
  const { fields } = document
  const { findings, leftOut } = notesOf(document)
  const said = Object.entries(isObject(fields.apps) ? fields.apps : {})
  const apps = said.flatMap(([id, app]) =>
    [id, textIn(app, 'name')].filter(isAppId).map((key) => [key, installedOf(app, users)] as const),
  )
  const listed: readonly unknown[] = Array.isArray(fields.blacklist) ? fields.blacklist : []
  const blacklist = [...new Set(listed.filter(isAppId))].slice(0, maxBlacklisted)
  for (const id of [...said.map(([app]) => app), ...listed].filter((one) => !isAppId(one)))
    leftOut('app_unreadable', { field: 'apps', old: String(id).slice(0, 64) })
  const doc = { apps: Object.fromEntries(apps), uninstalled: [], blacklist, imposed: [] }
  return imported(document, 'apps_store', accountId, { id: accountId, doc, findings })
}

/** The document of the apps that an account has, and those it hides. */
export const exportApps = (record: OwnRecord): LeavingDocument[] => {
  const { apps, blacklist } = record.doc
  return [exported('apps_store', record, { id: 'apps_store', fields: { apps, blacklist } })]
}
