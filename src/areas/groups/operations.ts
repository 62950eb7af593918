import type { AccountRecord } from '../../auth/identity.ts'
import { joinProblems, type Problems } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import { readsOf } from '../../storage/collection.ts'
import type { Store } from '../../storage/store.ts'
import { type Adoption, adoptingInto } from '../adoption.ts'
import { circleThrough, type GroupDoc, groupsIn, missingEndpoint, newEndpoints, storedHalf } from './rules.ts'
import { Group } from './schema.ts'
import { createGroupStore, type GroupRecord } from './store.ts'

export type { GroupDoc, GroupRecord }

interface Tools {
  store: Store
}

/** A group that somebody wants to store. */
interface Proposal {
  account: AccountRecord
  data: Json
  own?: GroupRecord
}

export type Groups = ReturnType<typeof createGroups>

/** Users, devices and groups that are rung together. */
export const createGroups = ({ store }: Tools) => {
  const groups = createGroupStore(store)
  const { records } = store

  const endpointProblems = async (accountId: string, doc: GroupDoc, own: GroupRecord | undefined) => {
    const found = await Promise.all(
      newEndpoints(doc, own?.doc).map(async ([id, endpoint]) =>
        (await records.find(accountId, endpoint.type, id)) ? {} : missingEndpoint(id, endpoint),
      ),
    )
    return joinProblems(...found)
  }

  /** Whether a group is among another one, or among those in it. */
  const holds = async (accountId: string, outerId: string, id: string): Promise<boolean> => {
    const seen = new Set<string>()
    const waiting = [outerId]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next === id) return true
      if (seen.has(next)) continue
      seen.add(next)
      const group = await groups.find(accountId, next)
      waiting.push(...(group ? groupsIn(group.doc) : []))
    }
    return false
  }

  const circleProblems = async (accountId: string, doc: GroupDoc, own: GroupRecord | undefined) => {
    if (!own) return {}
    const found = await Promise.all(
      groupsIn(doc).map(async (id) => ((await holds(accountId, id, own.id)) ? circleThrough(id) : {})),
    )
    return joinProblems(...found)
  }

  return {
    ...readsOf(groups),

    /** What the schema cannot know: endpoints that the account has not, groups that hold themselves. */
    async judge({ account, data, own }: Proposal): Promise<Problems> {
      const doc = storedHalf(data)
      return joinProblems(
        await endpointProblems(account.id, doc, own),
        await circleProblems(account.id, doc, own),
      )
    },

    async create(author: Author, account: AccountRecord, data: Json): Promise<GroupRecord> {
      const group = groups.draft(account.id, { doc: storedHalf(data), hidden: {} })
      const set = new ChangeSet(author)
      groups.insert(set, group)
      await store.commit(set)
      return group
    },

    async replace(author: Author, group: GroupRecord, data: Json): Promise<GroupRecord> {
      const after = groups.revise(group, { doc: storedHalf(data) })
      const set = new ChangeSet(author)
      groups.replace(set, group, after)
      await store.commit(set)
      return after
    },

    async remove(author: Author, group: GroupRecord) {
      const set = new ChangeSet(author)
      groups.remove(set, group)
      await store.commit(set)
    },

    /** Groups of another system, whoever is in them. */
    adoption: {
      schema: Group,
      ...adoptingInto(groups, ({ id, doc }) => ({
        doc: { name: id, endpoints: {}, ...doc },
        hidden: {},
      })),
    } satisfies Adoption,
  }
}
