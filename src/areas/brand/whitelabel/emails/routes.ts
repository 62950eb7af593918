import { accountAdmin, accountMember } from '../../../../auth/policies.ts'
import { cachedListing, type PlainListing } from '../../../../http/response/listing.ts'
import { answer, ListResponse, one, removed } from '../../../../http/response/responses.ts'
import { type Call, del, get, post, put, type Route } from '../../../../http/route.ts'
import { anyText } from '../../../../lib/schema.ts'
import type { ListRow } from '../../../../storage/records.ts'
import { dkimRecord } from './dkim-key.ts'
import { type SenderEmails, senderMetadata } from './operations.ts'
import { codeProblems, storedSenderFields } from './rules.ts'
import {
  SenderEmail,
  SenderEmailChange,
  SenderEmailRecord,
  SenderEmailRow,
  VerificationCode,
} from './schema.ts'
import type { SenderRecord } from './store.ts'

const emailsPath = '/v2/accounts/{account_id}/whitelabel/emails'
const oneEmail = `${emailsPath}/{email_id}` as const

const codeSent = 'A verification code was sent to the email address'

const pem = 'application/x-pem-file'

/** An empty file counts as a key, too. */
const sendsKey = ({ request }: Pick<Call, 'request'>) =>
  request.header('content-type')?.trim().toLowerCase().startsWith(pem) ?? false

/** The public half of the signing key. */
const keyMetadata = ({ hidden: { key } }: SenderRecord) =>
  key ? { dkim: { key_type: key.type, key_bits: key.bits, record: dkimRecord(key) } } : {}

const extrasOf = (record: SenderRecord) => ({
  metadata: { verified: record.hidden.isVerified, ...keyMetadata(record) },
})

const view = (record: SenderRecord) => one(record, extrasOf(record))

/** Filters read `verified` from the hidden part. */
const listingOf = (emails: SenderEmails, accountId: string): PlainListing<ListRow> => {
  const kept = cachedListing(emails, accountId)
  // The filter reads whole records.
  const isVerified = (row: ListRow) => (row as SenderRecord).hidden.isVerified
  return { ...kept, record: (row) => ({ ...kept.record(row), verified: isVerified(row) }) }
}

/** Writing is for admins: senders write to customers in the brand's name. */
export const senderEmailRoutes = (emails: SenderEmails): Route[] => {
  const subject = ({ path }: { path: { account_id: string; email_id: string } }) =>
    emails.get(path.account_id, path.email_id)

  return [
    get(emailsPath, {
      summary: 'List the sender addresses of an account',
      allow: accountMember,
      answers: SenderEmailRow,
      list: true,
      run: ({ path }) => new ListResponse(listingOf(emails, path.account_id)),
    }),
    put(emailsPath, {
      summary: 'Add a sender address: a code is mailed to it',
      allow: accountAdmin,
      prepare: storedSenderFields,
      body: SenderEmail,
      judge: ({ path, data }) => emails.judge(path.account_id, data),
      answers: anyText(),
      run: async ({ author, account, data }) => {
        const record = await emails.create({ author, account }, data)
        return answer({ data: codeSent, metadata: senderMetadata(record), created: record.id })
      },
    }),
    get(oneEmail, {
      summary: 'Read a sender address',
      record: { kind: 'whitelabel_email' },
      allow: accountMember,
      subject,
      answers: SenderEmailRecord,
      run: ({ subject: record }) => view(record),
    }),
    post(oneEmail, {
      summary: 'Change a sender address, or upload the private key that signs its email (PEM)',
      allow: accountAdmin,
      subject,
      prepare: storedSenderFields,
      body: SenderEmailChange,
      uploads: [pem],
      judge: ({ path, data, subject: record }) => emails.judge(path.account_id, data, record),
      answers: SenderEmailRecord,
      run: async ({ author, account, subject: record, data, upload, request }) =>
        view(
          upload || sendsKey({ request })
            ? await emails.putKey(author, record, upload)
            : await emails.change({ author, account }, record, data),
        ),
    }),
    del(oneEmail, {
      summary: 'Delete a sender address, with its key',
      allow: accountAdmin,
      subject,
      answers: SenderEmailRecord,
      run: async ({ author, subject: record }) =>
        removed(await emails.remove(author, record), extrasOf(record)),
    }),
    post(`${oneEmail}/verify`, {
      summary: 'Verify a sender address with the code that was mailed to it',
      resource: 'whitelabel',
      allow: accountAdmin,
      subject,
      body: VerificationCode,
      judge: async ({ data }) => codeProblems(data),
      answers: SenderEmailRecord,
      run: async ({ author, account, subject: record, data }) =>
        view(await emails.verify({ author, account }, record, String(data.code))),
    }),
  ]
}
