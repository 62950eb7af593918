import { filterOf } from '../../../../http/response/filters.ts'
import type { ListQuery } from '../../../../lib/question.ts'
import { type CdrRow, interactionIdOf, monthOfId } from '../columns.ts'
import {
  type ArchivedPart,
  type CdrPlace,
  type LegOwner,
  type ListChunk,
  monthAt,
  placeOrder,
  placeWithin,
  type TimeWindow,
} from '../places.rules.ts'
import { byChannelTime, filterableOf } from '../rules.ts'
import type { FileGroup } from './file.ts'
import { type ArchiveFiles, remainingRows } from './files.ts'
import type { ArchiveRegister } from './store.ts'

interface Walk {
  holder: LegOwner
  window: TimeWindow
  /** Exclusive. */
  after: CdrPlace | undefined
  descending: boolean
}

interface Bounded extends Walk {
  limit: number
  /** After about this many records of the account the result is returned with its end place. */
  most: number
}

interface FilteredWalk extends Bounded {
  questions: readonly ListQuery[]
}

interface PartGroup {
  part: ArchivedPart
  group: FileGroup
}

const legPlace = (leg: CdrRow): CdrPlace => ({ time: leg.created, mark: leg.id })
const interactionPlace = (leg: CdrRow): CdrPlace => ({
  time: leg.interaction_time,
  mark: leg.interaction_key,
})

const isOwned = ({ ownerId }: LegOwner, leg: CdrRow) => ownerId === undefined || leg.owner_id === ownerId

type Walks = ReturnType<typeof createWalks>

const createWalks = (files: ArchiveFiles) => {
  const groupsOf = async (part: ArchivedPart, accountId: string): Promise<PartGroup[]> =>
    (await files.groups(part))
      .filter(({ account }) => account.first <= accountId && accountId <= account.last)
      .map((group) => ({ part, group }))

  const rowsOf = ({ part, group }: PartGroup) => files.rows(part, group)

  /** An account's rows of one file within the window, in order, group by group. */
  async function* rowsOfPart(part: ArchivedPart, { holder, window, after, descending }: Walk) {
    const order = placeOrder(descending)
    const place = placeWithin(window, after)
    const low = descending || !place ? window.from : place.time
    const high = descending && place ? place.time : window.to
    const groups = await groupsOf(part, holder.accountId)
    for (const one of descending ? groups.reverse() : groups) {
      const { first, last } = one.group.created
      if (last < low || first > high) continue
      const rows = (await rowsOf(one)).filter(
        (leg) =>
          leg.account_id === holder.accountId &&
          leg.created >= low &&
          leg.created <= high &&
          (!place || order(legPlace(leg), place) > 0),
      )
      if (rows.length > 0) yield descending ? rows.reverse() : rows
    }
  }

  interface Source {
    part: ArchivedPart
    rows: AsyncIterator<CdrRow[]>
    /** Rows that were read and not yet returned. */
    batch: CdrRow[]
  }

  /** The rows of several files as one list. A file is opened when its first row is due. */
  async function* merged(parts: readonly ArchivedPart[], walk: Walk): AsyncGenerator<CdrRow[]> {
    const order = placeOrder(walk.descending)
    const headOf = ({ part: { first, last }, batch: [leg] }: Source): CdrPlace =>
      // Before a file is read, a place before every record of its first second.
      leg ? legPlace(leg) : { time: walk.descending ? last + 1 : first, mark: '' }
    let sources = parts
      .filter(({ first, last }) => first <= walk.window.to && last >= walk.window.from)
      .map((part): Source => ({ part, rows: rowsOfPart(part, walk), batch: [] }))
    for (;;) {
      const [source, next] = sources.toSorted((a, b) => order(headOf(a), headOf(b)))
      if (!source) return
      if (source.batch.length > 0) {
        const bound = next && headOf(next)
        const cut = bound ? source.batch.findIndex((leg) => order(legPlace(leg), bound) > 0) : -1
        const given = cut < 0 ? source.batch : source.batch.slice(0, Math.max(cut, 1))
        source.batch = source.batch.slice(given.length)
        yield given
        if (source.batch.length > 0) continue
      }
      const read = await source.rows.next()
      if (read.done) sources = sources.filter((one) => one !== source)
      else source.batch = read.value
    }
  }

  return { groupsOf, rowsOf, merged }
}

const listLegs = async (
  { merged }: Walks,
  parts: readonly ArchivedPart[],
  asked: FilteredWalk,
): Promise<ListChunk> => {
  const { holder, questions, limit, most } = asked
  const filter = filterOf(questions)
  const items: CdrRow[] = []
  let tried = 0
  for await (const rows of merged(parts, asked)) {
    for (const leg of rows) {
      tried += 1
      const isAsked = isOwned(holder, leg)
      if (isAsked && (!filter || filter(filterableOf(leg, { forReseller: true })))) items.push(leg)
      if (items.length === limit || tried === most) return { items, next: legPlace(leg) }
    }
  }
  return { items, next: undefined }
}

/**
 * The interactions of a month, each by its first leg. Groups are read in the order of their first interaction, until
 * no other group can have a leg of these interactions, or until `most` records were read.
 */
const listInteractions = async (
  { groupsOf, rowsOf }: Walks,
  parts: readonly ArchivedPart[],
  { holder, window, after, descending, limit, most }: Bounded,
): Promise<ListChunk> => {
  const order = placeOrder(descending)
  const place = placeWithin(window, after)
  const sign = descending ? -1 : 1
  const bounds = descending ? { near: window.to, far: window.from } : { near: window.from, far: window.to }
  const edgesOf = ({ group: { interactionTime: time } }: PartGroup) =>
    descending ? { near: time.last, far: time.first } : { near: time.first, far: time.last }
  const groups = (await Promise.all(parts.map((part) => groupsOf(part, holder.accountId))))
    .flat()
    .map((group) => ({ group, ...edgesOf(group) }))
    .filter(
      ({ near, far }) => sign * (far - (place?.time ?? bounds.near)) >= 0 && sign * (near - bounds.far) <= 0,
    )
    .sort((a, b) => sign * (a.near - b.near))

  const isAsked = (leg: CdrRow) =>
    leg.account_id === holder.accountId &&
    isOwned(holder, leg) &&
    leg.interaction_time >= window.from &&
    leg.interaction_time <= window.to &&
    (!place || order(interactionPlace(leg), place) > 0)

  /** A place just before a second. */
  const before = (time: number): CdrPlace => ({ time: time + (descending ? 1 : 0), mark: '' })
  const start = place ?? before(bounds.near)
  const found = new Map<string, CdrRow>()
  /** The interactions before a second: groups from there on have none of their legs. */
  const settledBefore = (near: number | undefined) =>
    [...found.values()].filter((leg) => near === undefined || sign * (leg.interaction_time - near) < 0)
  const chunkBefore = (near: number | undefined): ListChunk => {
    const items = settledBefore(near)
      .sort((a, b) => order(interactionPlace(a), interactionPlace(b)))
      .slice(0, limit)
    const final = items.at(-1)
    if (final && items.length === limit) return { items, next: interactionPlace(final) }
    return { items, next: near === undefined ? undefined : before(near) }
  }

  let tried = 0
  for (const { group, near } of groups) {
    // Without progress the same groups would be read again and again.
    const isEnough = tried >= most && order(before(near), start) > 0
    if (isEnough || settledBefore(near).length >= limit) return chunkBefore(near)
    const rows = await rowsOf(group)
    tried += rows.length
    for (const leg of rows.filter(isAsked)) {
      const key = interactionIdOf(leg)
      const known = found.get(key)
      if (!known || byChannelTime(leg, known) < 0) found.set(key, leg)
    }
  }
  return chunkBefore(undefined)
}

/** Lists of call records in files. */
export const createArchiveReading = (register: ArchiveRegister, files: ArchiveFiles) => {
  const walks = createWalks(files)
  const { groupsOf, rowsOf } = walks

  /** The groups of a month that may have records of an account. */
  async function* groupsIn(month: number, accountId: string): AsyncGenerator<PartGroup> {
    for (const part of await register.partsOf(accountId, { first: month, last: month }))
      yield* await groupsOf(part, accountId)
  }

  return {
    partsOf: register.partsOf,

    legs: (parts: readonly ArchivedPart[], asked: FilteredWalk) => listLegs(walks, parts, asked),

    interactions: (parts: readonly ArchivedPart[], asked: Bounded) => listInteractions(walks, parts, asked),

    async find(accountId: string, id: string): Promise<CdrRow | undefined> {
      for await (const one of groupsIn(monthOfId(id), accountId)) {
        if (!(await files.mayHold(one.part, one.group, id))) continue
        const found = (await rowsOf(one)).find((leg) => leg.account_id === accountId && leg.id === id)
        if (found) return found
      }
      return undefined
    },

    /** All legs of an interaction, unordered. */
    async legsOf(accountId: string, { time, mark }: CdrPlace): Promise<CdrRow[]> {
      const isMeant = (leg: CdrRow) =>
        leg.account_id === accountId && leg.interaction_time === time && leg.interaction_key === mark
      const found: CdrRow[] = []
      for await (const one of groupsIn(monthAt(time), accountId)) {
        const { first, last } = one.group.interactionTime
        if (first <= time && time <= last) found.push(...(await rowsOf(one)).filter(isMeant))
      }
      return found
    },

    async *month(month: number): AsyncGenerator<readonly CdrRow[]> {
      for (const file of await register.liveOf(month)) yield* remainingRows(register, files, file)
    },
  }
}

export type ArchiveReading = ReturnType<typeof createArchiveReading>
