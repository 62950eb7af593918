import { type Json, present } from '../../../lib/json.ts'
import { pictureIn } from '../../../lib/picture.ts'
import type { AppDescription, AppWords, Installation } from './schema.ts'

type Installed = Required<Installation>

export interface AppsStoreDoc {
  /** By id. */
  apps: Readonly<Record<string, Installed>>
  /** Apps that the account uninstalled, although the operator provides them to every account. */
  uninstalled: readonly string[]
  /** Hidden from the account and its sub-accounts. */
  blacklist: readonly string[]
  /** Entries of the blacklist that accounts above have made. */
  imposed: readonly string[]
}

export const noApps: AppsStoreDoc = { apps: {}, uninstalled: [], blacklist: [], imposed: [] }

interface Viewer {
  isAdmin: boolean
  userId: string | undefined
}

export interface AccountApp {
  id: string
  described: AppDescription
  installed: Installed | undefined
}

const appName = ({ id, described: { name } }: AccountApp) => name || id

const installedIn = ({ apps, uninstalled }: AppsStoreDoc, id: string, { allowed_users }: AppDescription) => {
  if (Object.hasOwn(apps, id)) return apps[id]
  if (allowed_users === undefined || uninstalled.includes(id)) return undefined
  return { allowed_users, users: [] }
}

/** Admins also see apps that are not installed. */
const isShownTo = ({ isAdmin, userId }: Viewer, { installed }: AccountApp) => {
  if (isAdmin) return true
  if (installed?.allowed_users === 'specific') return installed.users.some(({ id }) => id === userId)
  return installed?.allowed_users === 'all'
}

/** The apps in the plans of an account; all if the plans list none. */
export const offeredBy = (
  listed: Readonly<Record<string, { enabled?: boolean }>> = {},
  described: Readonly<Record<string, AppDescription>>,
): Readonly<Record<string, AppDescription>> => {
  if (Object.keys(listed).length === 0) return described
  return Object.fromEntries(
    Object.entries(described).filter(([id]) => Object.hasOwn(listed, id) && listed[id]?.enabled !== false),
  )
}

/** Without those on the blacklists of the account and its parents. */
export const appsFor = (
  viewer: Viewer,
  described: Readonly<Record<string, AppDescription>>,
  own: AppsStoreDoc,
  above: readonly AppsStoreDoc[],
): AccountApp[] => {
  const hidden = new Set([own, ...above].flatMap(({ blacklist }) => blacklist))
  return Object.entries(described)
    .filter(([id, { published }]) => published !== false && !hidden.has(id))
    .map(([id, app]) => ({ id, described: app, installed: installedIn(own, id, app) }))
    .filter((app) => isShownTo(viewer, app))
    .sort((a, b) => (appName(a) < appName(b) ? -1 : 1))
}

export const withInstalled = (
  doc: AppsStoreDoc,
  id: string,
  { allowed_users = 'all', users = [] }: Installation,
): AppsStoreDoc => {
  const ids = new Set(users.map((user) => user.id))
  const installed = { allowed_users, users: [...ids].map((userId) => ({ id: userId })) }
  return {
    ...doc,
    apps: { ...doc.apps, [id]: installed },
    uninstalled: doc.uninstalled.filter((other) => other !== id),
  }
}

export const withoutInstalled = (doc: AppsStoreDoc, id: string): AppsStoreDoc => {
  const { [id]: _gone, ...apps } = doc.apps
  return { ...doc, apps, uninstalled: [...doc.uninstalled.filter((other) => other !== id), id] }
}

/** Undefined if the user is not in it. */
export const withoutUser = (doc: AppsStoreDoc, userId: string): AppsStoreDoc | undefined => {
  const isNamed = Object.values(doc.apps).some(({ users }) => users.some(({ id }) => id === userId))
  if (!isNamed) return undefined
  const without = (app: Installed) => ({ ...app, users: app.users.filter(({ id }) => id !== userId) })
  const apps = Object.entries(doc.apps).map(([id, app]) => [id, without(app)])
  return { ...doc, apps: Object.fromEntries(apps) }
}

/** Entries of accounts above that the new blacklist lacks. */
export const liftedFrom = ({ imposed }: AppsStoreDoc, blacklist: readonly string[]) =>
  imposed.filter((id) => !blacklist.includes(id))

/** By language. Clients fall back to `en-US`, and show the label. */
const wordsOf = (app: AccountApp, told: (words: AppWords) => AppWords): Json => {
  const { i18n = {} } = app.described
  const [first = {}] = Object.values(i18n)
  const languages = Object.entries({ ...i18n, 'en-US': i18n['en-US'] ?? first })
  return Object.fromEntries(
    languages.map(([language, words]) => [language, { label: appName(app), ...told(words) }]),
  )
}

const inShort = ({ label, description }: AppWords) => present({ label, description })

const atLength = ({ extended_description, features, ...words }: AppWords) =>
  present({ ...inShort(words), extended_description, features })

const imageExtensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/x-icon': 'ico',
}

/** The address, or the file name at its path. */
const toldAs = (image: string, name: string) => {
  const picture = pictureIn(image)
  return picture ? `${name}.${imageExtensions[picture.contentType]}` : image
}

export const appRow = (app: AccountApp): Json => {
  const { id, described, installed } = app
  const { tags = [], icon, api_url, source_url, masqueradable = true, phase } = described
  return present({
    id,
    name: appName(app),
    i18n: wordsOf(app, inShort),
    tags,
    icon: icon && toldAs(icon, 'icon'),
    api_url,
    source_url,
    masqueradable,
    phase,
    ...installed,
  })
}

export const appRecord = (accountId: string, app: AccountApp): Json => {
  const { author, license, version, price, urls, screenshots = [] } = app.described
  return present({
    ...appRow(app),
    i18n: wordsOf(app, atLength),
    account_id: accountId,
    author,
    license,
    version,
    price,
    urls: urls && present({ documentation: urls.documentation, howto: urls.howto }),
    screenshots: screenshots.map((image, index) => toldAs(image, `screenshot-${index}`)),
  })
}
