import type { Actor } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { shortListing } from '../../../http/response/listing.ts'
import { answer, FileResponse, harmless, ListResponse, publicly } from '../../../http/response/responses.ts'
import { type Call, del, get, post, put, type Route } from '../../../http/route.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { iconTypes, imageTypes } from '../../../lib/image-type.ts'
import { pictureIn } from '../../../lib/picture.ts'
import { anyText } from '../../../lib/schema.ts'
import {
  type AppSubject,
  type AppsStore,
  type AppsStoreRecord,
  type AppsSubject,
  appInstalled,
  appNotInstalled,
} from './operations.ts'
import { type AccountApp, appRecord, appRow } from './rules.ts'
import { App, AppRow, Blacklist, Installation } from './schema.ts'

const appsPath = '/v2/accounts/{account_id}/apps_store'
const blacklist = `${appsPath}/blacklist` as const
const oneApp = `${appsPath}/{app_id}` as const

const blacklistOf = (record: AppsStoreRecord | undefined) =>
  answer({
    data: { blacklist: record?.doc.blacklist ?? [] },
    ...(record ? { revision: record.revision } : {}),
  })

/** An image at an address is a redirect. */
const pictureAnswer = (image: string | undefined, visitor: Actor | undefined, cause: string) => {
  if (image === undefined) throw failure(badIdentifier, { cause })
  const picture = pictureIn(image)
  if (!picture) return answer({ data: image, status: 302, headers: { location: image } })
  return new FileResponse(picture.bytes, picture.contentType, { ...harmless, ...publicly(visitor) })
}

export const appsStoreRoutes = (apps: AppsStore): Route[] => {
  type OfApp = Pick<Call<typeof oneApp>, 'actor' | 'account' | 'path'>

  const subject = ({ actor, account, path }: OfApp) => apps.subject(actor, account, path.app_id)

  const described = async ({ actor, account, path }: OfApp) =>
    (await apps.get(actor, account, path.app_id)).described

  const shown = (
    { account }: Pick<Call, 'account'>,
    { app, revision }: { app: AccountApp; revision: string },
  ) => answer({ data: appRecord(account.id, app), revision })

  const changing = { allow: accountAdmin, subject, answers: App }
  const installed = {
    ...changing,
    isKept: ({ app }: AppSubject) => app.installed !== undefined,
    fails: [appNotInstalled],
  }
  const pictures = { allow: accountMember, answers: anyText(), produces: [...imageTypes, ...iconTypes] }

  return [
    get(appsPath, {
      summary: 'List the apps of an account that the caller can see; admins see all',
      allow: accountMember,
      answers: AppRow,
      list: true,
      run: async ({ actor, account }) =>
        new ListResponse(shortListing((await apps.list(actor, account)).map(appRow))),
    }),
    get(blacklist, {
      summary: 'Read the apps that are hidden from an account and its sub-accounts',
      allow: accountAdmin,
      answers: Blacklist,
      run: async ({ account }) => blacklistOf(await apps.find(account.id)),
    }),
    post(blacklist, {
      summary: 'Set the apps that are hidden from an account and its sub-accounts',
      allow: accountAdmin,
      subject: ({ account }) => apps.said(account),
      isKept: ({ record }: AppsSubject) => (record?.doc.blacklist.length ?? 0) > 0,
      body: Blacklist,
      answers: Blacklist,
      run: async (call) => blacklistOf(await apps.hide(call, call.data.blacklist)),
    }),
    get(oneApp, {
      summary: 'Read an app',
      allow: accountMember,
      answers: App,
      run: async ({ actor, account, path }) =>
        answer({ data: appRecord(account.id, await apps.get(actor, account, path.app_id)) }),
    }),
    put(oneApp, {
      summary: 'Install an app',
      ...changing,
      body: Installation,
      fails: [appInstalled],
      run: async (call) => shown(call, await apps.install(call, call.data)),
    }),
    post(oneApp, {
      summary: 'Set the users of an installed app',
      ...installed,
      body: Installation,
      run: async (call) => shown(call, await apps.allow(call, call.data)),
    }),
    del(oneApp, {
      summary: 'Uninstall an app',
      ...installed,
      run: async (call) => {
        await apps.uninstall(call)
        const data = appRecord(call.account.id, call.subject.app)
        return answer({ data, metadata: { deleted: true } })
      },
    }),
    get(`${oneApp}/icon`, {
      summary: 'Read the icon of an app',
      resource: 'apps_store',
      ...pictures,
      run: async (call) => pictureAnswer((await described(call)).icon, call.visitor, 'icon'),
    }),
    get(`${oneApp}/screenshot/{index}`, {
      summary: 'Read a screenshot of an app; the first has index 0',
      resource: 'apps_store',
      ...pictures,
      run: async (call) => {
        const { index } = call.path
        const { screenshots } = await described(call)
        const image = /^\d{1,3}$/.test(index) ? screenshots?.[Number(index)] : undefined
        return pictureAnswer(image, call.visitor, index)
      },
    }),
  ]
}
