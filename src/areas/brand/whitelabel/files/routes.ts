import type { Actor } from '../../../../auth/identity.ts'
import { accountAdmin, anyone, anyToken } from '../../../../auth/policies.ts'
import { FileResponse, harmless, one, publicly } from '../../../../http/response/responses.ts'
import { get, post, type Route } from '../../../../http/route.ts'
import { attachment } from '../../../../http/transport/media.ts'
import { failure, forbidden } from '../../../../lib/failure.ts'
import { anyText } from '../../../../lib/schema.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import type { BrandVisibility } from '../brands.ts'
import type { Whitelabels } from '../operations.ts'
import { WhitelabelRecord } from '../schema.ts'
import type { BrandFile, BrandFiles } from './operations.ts'
import { type FileKind, fileKinds, servedTypes, uploadTypes } from './rules.ts'

interface Areas {
  whitelabels: Whitelabels
  files: BrandFiles
  visibility: BrandVisibility
  accounts: Accounts
}

const fileAnswer = ({ bytes, contentType, name = 'file', revision }: BrandFile, visitor: Actor | undefined) =>
  new FileResponse(bytes, contentType, {
    ...harmless,
    ...publicly(visitor),
    etag: `"${revision}"`,
    ...attachment(name),
  })

/** Public, for sign-in pages. */
export const brandFileRoutes = ({ whitelabels, files, visibility, accounts }: Areas): Route[] => {
  /** The settings at a host, for their account and its parents. */
  const ownedByDomain = async ({ path, actor }: { path: { domain: string }; actor: Actor }) => {
    const record = await whitelabels.byDomain(path.domain)
    const account = await accounts.find(record.accountId)
    if (!accountAdmin.allows(actor, account, path)) {
      throw failure(forbidden, { cause: `may be called by: ${accountAdmin.name}` })
    }
    return record
  }

  const routesOf = (kind: FileKind): Route[] => {
    const onAccount = `/v2/accounts/{account_id}/whitelabel/${kind}` as const
    const onDomain = `/v2/whitelabel/{domain}/${kind}` as const
    const reading = { allow: anyone, answers: anyText(), produces: servedTypes[kind] }
    const writing = { uploads: uploadTypes[kind], answers: WhitelabelRecord }

    return [
      get(onAccount, {
        summary: `Read the ${kind} of an account's brand`,
        ...reading,
        run: async ({ path, visitor }) => fileAnswer(await files.get(path.account_id, kind), visitor),
      }),
      post(onAccount, {
        summary: `Set the ${kind} of an account's brand: raw, as base64, as a data URL or in a form`,
        allow: accountAdmin,
        subject: ({ path }) => whitelabels.get(path.account_id),
        ...writing,
        run: async ({ author, subject, upload }) => {
          await files.put(author, subject, kind, upload)
          return one(subject)
        },
      }),
      get(onDomain, {
        summary: `Read the ${kind} of the brand of a host`,
        resource: 'whitelabel',
        ...reading,
        run: async ({ path, visitor }) => {
          const { accountId } = await visibility.at(path.domain, visitor)
          return fileAnswer(await files.get(accountId, kind), visitor)
        },
      }),
      post(onDomain, {
        summary: `Set the ${kind} of the brand of a host, for its account or a parent account`,
        resource: 'whitelabel',
        allow: anyToken,
        subject: ownedByDomain,
        ...writing,
        run: async ({ author, subject, upload }) => {
          await files.put(author, subject, kind, upload)
          return one(subject)
        },
      }),
    ]
  }

  return fileKinds.flatMap(routesOf)
}
