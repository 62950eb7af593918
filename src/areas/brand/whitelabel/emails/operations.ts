import { timingSafeEqual } from 'node:crypto'
import { type AccountRecord, accountKind } from '../../../../auth/identity.ts'
import { sha256Hex } from '../../../../auth/keyring.ts'
import { failure, invalid, type Problems, tooManyRequests } from '../../../../lib/failure.ts'
import { randomKey } from '../../../../lib/ids.ts'
import { present } from '../../../../lib/json.ts'
import { recipient } from '../../../../mail/mail.ts'
import type { Attached } from '../../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { readsOf } from '../../../../storage/collection.ts'
import { requireRecord } from '../../../../storage/records.ts'
import { committed } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import { emailVerificationNotice } from '../notices.ts'
import { assertOneFile } from '../rules.ts'
import { readDkimKey } from './dkim-key.ts'
import { codeFrom, codeSeconds, maxAddresses, sameAddress } from './rules.ts'
import type { SenderEmail, SenderEmailChange } from './schema.ts'
import {
  addressClaim,
  addressTaken,
  createCodeBooks,
  createSenderStore,
  type SenderHidden,
  type SenderRecord,
} from './store.ts'

interface Hand {
  author: Author
  account: AccountRecord
}

const keyPlace = ({ accountId, id }: SenderRecord) => `dkim_key/${accountId}/${id}`
const codePlace = ({ accountId, id }: SenderRecord) => `email_code/${accountId}/${id}`

const sameText = (a: string, b: string) =>
  timingSafeEqual(Buffer.from(sha256Hex(a)), Buffer.from(sha256Hex(b)))

/** Public facts of the hidden part. */
export const senderMetadata = ({ id, created, modified, hidden }: SenderRecord) => ({
  id,
  created,
  modified,
  verified: hidden.isVerified,
})

const tooMany = (): Problems => ({
  email: {
    maxItems: { message: `An account has at most ${maxAddresses} sender addresses`, target: maxAddresses },
  },
})

export type SenderEmails = ReturnType<typeof createSenderEmails>

type SenderDeps = DepsOf<'store' | 'keyring' | 'mail'>

/** Codes that verify addresses. */
const createCodes = ({ store, keyring, mail }: SenderDeps) => {
  const books = createCodeBooks(store)
  const { clock } = store

  return {
    /** Mails a new code. `wait`: seconds until the next code is allowed; 0 if it was mailed. */
    async send(set: ChangeSet, account: AccountRecord, record: SenderRecord, email: string) {
      const wait = await books.spend(set, account.id, email)
      if (wait > 0) return { wait }
      const code = codeFrom(randomKey(4))
      await mail.notify(set, {
        notice: emailVerificationNotice,
        account,
        to: [recipient(email, account)],
        values: { email, code, 'code.minutes': String(codeSeconds / 60) },
        goodForSeconds: codeSeconds,
      })
      const expires = clock.now() + codeSeconds * 1000
      return { wait: 0, code: { sealed: keyring.seal(code, codePlace(record)), expires } }
    },

    isRight(record: SenderRecord, sent: string) {
      const { code } = record.hidden
      if (!code || code.expires <= clock.now()) return false
      return sameText(keyring.open(code.sealed, codePlace(record)), sent)
    },

    forget: books.forget,
  }
}

const unverified = ({ key }: SenderHidden, code: SenderHidden['code']): SenderHidden => ({
  isVerified: false,
  ...present({ code, key }),
})

/** Sender addresses. Each is verified by a mailed code. */
export const createSenderEmails = (deps: SenderDeps) => {
  const { store, keyring } = deps
  const emails = createSenderStore(store)
  const codes = createCodes(deps)

  const save = async (set: ChangeSet, before: SenderRecord, content: Parameters<typeof emails.revise>[1]) => {
    const after = emails.revise(before, content)
    emails.replace(set, before, after)
    await store.commit(set)
    return after
  }

  /** Mails a code to a new address. */
  const firstCode = async (set: ChangeSet, account: AccountRecord, record: SenderRecord, email: string) => {
    const { wait, code } = await codes.send(set, account, record, email)
    if (wait > 0) throw failure(tooManyRequests, { retryAfterSeconds: wait })
    return unverified(record.hidden, code)
  }

  /** A wrong guess invalidates the code. */
  const refuseCode = async ({ author, account }: Hand, record: SenderRecord): Promise<never> => {
    const set = new ChangeSet(author)
    const { wait, code } = await codes.send(set, account, record, record.doc.email)
    const isSame = wait > 0 && record.hidden.code === undefined
    const after = isSame ? record : await save(set, record, { hidden: unverified(record.hidden, code) })
    if (wait > 0) throw failure(tooManyRequests, { retryAfterSeconds: wait })
    const message = 'Invalid verification code: a new code was sent'
    throw invalid({ code: { invalid: { message } } }, senderMetadata(after))
  }

  /** The oldest first. */
  const all = async (accountId: string): Promise<SenderRecord[]> => {
    const found = await emails.page({ accountId, limit: maxAddresses, descending: false })
    return found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  return {
    ...readsOf(emails),
    all,

    async judge(accountId: string, { email }: SenderEmailChange, own?: SenderRecord): Promise<Problems> {
      if (email === undefined) return {}
      const holder = await store.records.claimant(addressClaim(accountId, email))
      if (holder && holder.id !== own?.id) return addressTaken(email)
      return own || (await all(accountId)).length < maxAddresses ? {} : tooMany()
    },

    async create({ author, account }: Hand, doc: SenderEmail): Promise<SenderRecord> {
      const set = new ChangeSet(author)
      requireRecord(set, { accountId: account.id, kind: accountKind, id: account.id })
      const draft = emails.draft(account.id, { doc, hidden: { isVerified: false } })
      const hidden = await firstCode(set, account, draft, doc.email)
      const record = emails.draft(account.id, { doc, hidden }, draft.id)
      emails.insert(set, record)
      await store.commit(set)
      return record
    },

    /** Changes the given fields. A new address must be verified. */
    async change({ author, account }: Hand, record: SenderRecord, change: SenderEmailChange) {
      const set = new ChangeSet(author)
      const doc = { ...record.doc, ...change }
      if (sameAddress(doc.email, record.doc.email)) return save(set, record, { doc })
      return save(set, record, { doc, hidden: await firstCode(set, account, record, doc.email) })
    },

    /** A verified address stays verified. */
    async verify(hand: Hand, record: SenderRecord, sent: string): Promise<SenderRecord> {
      if (record.hidden.isVerified) return record
      if (!codes.isRight(record, sent)) return refuseCode(hand, record)
      const set = new ChangeSet(hand.author)
      await codes.forget(set, record.doc.email)
      return save(set, record, { hidden: { ...unverified(record.hidden, undefined), isVerified: true } })
    },

    async putKey(author: Author, record: SenderRecord, upload: { bytes: Buffer; files: number } | undefined) {
      const { privateKey, ...key } = readDkimKey(assertOneFile(upload).bytes)
      const sealed = keyring.seal(privateKey, keyPlace(record))
      return save(new ChangeSet(author), record, { hidden: { ...record.hidden, key: { ...key, sealed } } })
    },

    async remove(author: Author, record: SenderRecord) {
      await committed(store, author, (set) => emails.remove(set, record))
      return record
    },

    byAddress: (accountId: string, address: string): Promise<SenderRecord | undefined> =>
      emails.holder(addressClaim(accountId, address)),

    privateKeyOf(record: SenderRecord): string | undefined {
      const { key } = record.hidden
      return key && keyring.open(key.sealed, keyPlace(record))
    },

    removeWith: (async (set, { accountId }) => {
      for (const record of await all(accountId)) emails.remove(set, record)
    }) satisfies Attached['removeWith'],
  }
}
