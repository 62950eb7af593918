import { createHmac } from 'node:crypto'
import { type DigestMethod, isEmptyPassword, layerOfKey } from '../../../auth/credentials.ts'
import {
  type AccountRecord,
  accountKind,
  type UserDoc,
  type UserHidden,
  type UserRecord,
  userPhotoKind,
} from '../../../auth/identity.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { randomHex, randomKey } from '../../../lib/ids.ts'
import { imageTypeOf } from '../../../lib/image-type.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import { createFiles } from '../../../storage/files.ts'
import { type ImportedRecord, type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import { maxPhotoBytes } from './rules.ts'
import { User } from './schema.ts'
import { createUserStore, usernameClaim } from './store.ts'

export type UserFacts = {
  /** The digests that clients send, by method. */
  digests?: Partial<Record<DigestMethod, string>>
  /** Gregorian seconds of the last password change. */
  passwordChanged?: number
}

const maxDigestMarks = 100_000
const longestName = 200

const userFactsOf = ({ facts }: ImportedRecord) => facts as UserFacts

/** Marks of the last imported digests, only in memory: stored bits would help an attacker to guess passwords. */
const createDigestMemory = () => {
  const key = randomKey(32)
  const marks = new Map<string, string>()
  const placeOf = ({ accountId, id }: ImportedRecord) => `${accountId} ${id}`
  const markOf = (arrival: ImportedRecord) =>
    createHmac('sha256', key)
      .update(JSON.stringify([placeOf(arrival), userFactsOf(arrival).digests]))
      .digest('base64url')
  return {
    isSame: (arrival: ImportedRecord) => marks.get(placeOf(arrival)) === markOf(arrival),
    remember(arrival: ImportedRecord) {
      marks.delete(placeOf(arrival))
      marks.set(placeOf(arrival), markOf(arrival))
      evictOldest(marks, maxDigestMarks)
    },
  }
}

const photoOf = ({ files }: ImportedRecord) =>
  files.flatMap(({ bytes }) => {
    const contentType = imageTypeOf(bytes)
    return contentType === undefined || bytes.length > maxPhotoBytes ? [] : [{ contentType, bytes }]
  })[0]

/** The sign-in keys of imported users. */
const keyImport = ({ store: { records }, deriver }: DepsOf<'store' | 'deriver'>) => {
  const memory = createDigestMemory()

  return async (arrival: ImportedRecord, before: UserRecord | undefined): Promise<readonly string[]> => {
    const { username } = arrival.doc
    const name = typeof username === 'string' ? username : undefined
    const all = Object.entries(userFactsOf(arrival).digests ?? {}) as [DigestMethod, string][]
    const digests = all.filter(([method, digest]) => !isEmptyPassword(method, digest, name))
    if (digests.length === 0) return []
    const had = before?.hidden.signInKeys ?? []
    if (had.length === digests.length && memory.isSame(arrival)) return had
    const { accountId } = arrival
    const account = await records.find(accountId, accountKind, accountId)
    if (!account) throw new Error(`users were imported before their account ${accountId}`)
    const salt = account.hidden.signInSalt
    // Strengthened keys stay as strong.
    const toLayer = Math.max(1, ...had.map((key) => layerOfKey(key).layer))
    const keys = await Promise.all(
      digests.map(([method, digest]) => deriver.arrivingKey(accountId, { salt, method, digest, toLayer })),
    )
    memory.remember(arrival)
    return keys
  }
}

export const createUserImporter = (deps: DepsOf<'store' | 'deriver'>) => {
  const { store } = deps
  const users = createUserStore(store)
  const photos = createFiles(store, userPhotoKind)
  const deriveKeys = keyImport(deps)
  const derived = new WeakMap<ImportedRecord, readonly string[]>()

  const hiddenOf = async (arrival: ImportedRecord, before: UserRecord | undefined): Promise<UserHidden> => {
    const signInKeys = derived.get(arrival) ?? (await deriveKeys(arrival, before))
    const isSame = before?.hidden.signInKeys.join() === signInKeys.join()
    const { passwordChanged } = userFactsOf(arrival)
    return {
      // A new password ends all sessions.
      signatureSecret: before && isSame ? before.hidden.signatureSecret : randomHex(32),
      signInKeys,
      ...(passwordChanged === undefined ? {} : { passwordChanged }),
      ...(photoOf(arrival) ? { hasAvatar: true } : {}),
    }
  }

  const removePhoto = async (set: ChangeSet, { accountId, id }: Pick<ImportedRecord, 'accountId' | 'id'>) => {
    const photo = await photos.find(accountId, id)
    if (photo) photos.remove(set, photo)
  }

  /** Renames another user of the same name. Clients still sign in: their digest contains the old name. */
  const makeRoom = async (set: ChangeSet, { accountId, id, doc: { username } }: ImportedRecord) => {
    if (typeof username !== 'string') return
    const holder = await store.records.claimant(usernameClaim(accountId, username))
    if (!holder || holder.id === id) return
    const stored = await users.find(accountId, holder.id)
    const other = stored && users.leftBy([set], stored)
    if (other?.doc.username !== username) return
    const name = `${username.slice(0, longestName)}.${other.id.slice(-8)}`
    const content = { doc: { ...other.doc, username: name }, hidden: other.hidden }
    users.arrivals.replace(set, other, users.arriving(other, content))
  }

  const adopting = importingInto<UserDoc, UserHidden>(users.arrivals, async (arrival, before) => ({
    doc: arrival.doc as UserDoc,
    hidden: await hiddenOf(arrival, before),
  }))

  const adoption: Importer = {
    ...adopting,
    schema: User,

    fileProblem({ bytes }) {
      if (bytes.length > maxPhotoBytes) return `it is larger than ${maxPhotoBytes} bytes`
      return imageTypeOf(bytes) ? undefined : 'it is not an image of a known type'
    },

    async prepare(arrivals) {
      await Promise.all(
        arrivals.map(async (arrival) => {
          const before = await users.find(arrival.accountId, arrival.id)
          if (before?.revision === arrival.revision) return
          derived.set(arrival, await deriveKeys(arrival, before))
        }),
      )
    },

    async put(set, arrival) {
      const before = await users.find(arrival.accountId, arrival.id)
      if (before?.revision === arrival.revision) return false
      await makeRoom(set, arrival)
      if (!(await adopting.put(set, arrival))) return false
      const photo = photoOf(arrival)
      if (photo) await photos.put(set, arrival, photo, arrival)
      else await removePhoto(set, arrival)
      return true
    },

    async files({ accountId, id }) {
      const photo = await photos.find(accountId, id)
      return new Map(photo ? [['photo', photos.contentOf(photo).bytes]] : [])
    },

    async remove(set, place) {
      if (!(await adopting.remove(set, place))) return false
      await removePhoto(set, place)
      return true
    },
  }

  return {
    adoption,

    /** Adds the users of a replaced account to its successor, which has the same salt. */
    async moveIn(set: ChangeSet, from: AccountRecord, to: AccountRecord) {
      for await (const batch of users.batches({ accountId: from.id }))
        for (const { id, created, modified, revision, doc, hidden } of batch) {
          const place = { accountId: to.id, id, created, modified, revision }
          const content = { doc, hidden: { ...hidden, hasAvatar: false } }
          users.arrivals.insert(set, users.arriving(place, content))
        }
    },
  }
}
