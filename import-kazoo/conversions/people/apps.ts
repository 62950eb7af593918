import { appIdForm, mostBlacklisted, mostUsers } from '../../../src/areas/apps-store/rules.ts'
import { isId } from '../../../src/lib/ids.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { textIn } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'

const appId = new RegExp(appIdForm)
const audiences: readonly unknown[] = ['all', 'admins', 'specific']

const isAppId = (value: unknown): value is string => typeof value === 'string' && appId.test(value)

const usersOf = (app: unknown, users: ReadonlySet<string>) => {
  const listed = isObject(app) && Array.isArray(app.users) ? app.users : []
  const ids = listed.flatMap((user) => {
    const id = isObject(user) ? user.id : user
    return isId(id) && users.has(id) ? [id] : []
  })
  return [...new Set(ids)].slice(0, mostUsers).map((id) => ({ id }))
}

/** Who has an app; of one that says it otherwise, everybody. */
const installedOf = (app: unknown, users: ReadonlySet<string>): Json => {
  const said = isObject(app) ? app.allowed_users : undefined
  return {
    allowed_users: audiences.includes(said) ? said : 'all',
    users: said === 'specific' ? usersOf(app, users) : [],
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
  const said = Object.entries(isObject(fields.apps) ? fields.apps : {})
  const apps = said.flatMap(([id, app]) =>
    [id, textIn(app, 'name')].filter(isAppId).map((key) => [key, installedOf(app, users)] as const),
  )
  const listed = Array.isArray(fields.blacklist) ? fields.blacklist : []
  const blacklist = [...new Set(listed.filter(isAppId))].slice(0, mostBlacklisted)
  const draft = draftOf(document, 'apps_store', accountId, {
    doc: { apps: Object.fromEntries(apps), uninstalled: [], blacklist, imposed: [] },
  })
  const unreadable = [...said.map(([id]) => id), ...listed].filter((id) => !isAppId(id))
  return converted(document, 'imported', {
    drafts: [{ ...draft, id: accountId }],
    findings: unreadable.map((id) =>
      finding(document, 'left_out', 'app_unreadable', { field: 'apps', old: String(id).slice(0, 64) }),
    ),
  })
}
