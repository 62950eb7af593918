import { filterOf } from '../../../../http/response/filters.ts'
import type { ListQuery } from '../../../../lib/question.ts'
import { type CdrRow, monthOfId } from '../columns.ts'
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

/** Lists of call records in files. */
export const createArchiveReading = (register: ArchiveRegister, files: ArchiveFiles) => {
  const groupsOf = async (part: ArchivedPart, accountId: string): Promise<PartGroup[]> => {
    const groups = await files.groups(part)
    return groups
      .filter(({ account }) => account.first <= accountId && accountId <= account.last)
      .map((group) => ({ part, group }))
  }

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
    /** Rows that were read and not yet returned; undefined before the first read. */
    batch: CdrRow[] | undefined
  }

  /** The rows of several files as one list. A file is opened when its first row is due. */
  async function* merged(parts: readonly ArchivedPart[], walk: Walk): AsyncGenerator<CdrRow[]> {
    const order = placeOrder(walk.descending)
    const begin = ({ first, last }: ArchivedPart): CdrPlace =>
      // Before every record of that second.
      walk.descending ? { time: last + 1, mark: '' } : { time: first, mark: '' }
    const headOf = ({ part, batch }: Source) => (batch?.[0] ? legPlace(batch[0]) : begin(part))
    let sources = parts
      .filter(({ first, last }) => first <= walk.window.to && last >= walk.window.from)
      .map((part): Source => ({ part, rows: rowsOfPart(part, walk), batch: undefined }))
    for (;;) {
      const [source, next] = sources.toSorted((a, b) => order(headOf(a), headOf(b)))
      if (!source) return
      if (source.batch && source.batch.length > 0) {
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

  const legs = async (parts: readonly ArchivedPart[], asked: FilteredWalk): Promise<ListChunk> => {
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

  const inWindow = (walk: Walk) => {
    const order = placeOrder(walk.descending)
    const place = placeWithin(walk.window, walk.after)
    return (leg: CdrRow) =>
      leg.account_id === walk.holder.accountId &&
      isOwned(walk.holder, leg) &&
      leg.interaction_time >= walk.window.from &&
      leg.interaction_time <= walk.window.to &&
      (!place || order(interactionPlace(leg), place) > 0)
  }

  /**
   * The interactions of a month, each by its first leg. Groups are read in the order of their first interaction, until
   * no other group can have a leg of these interactions, or until `most` records were read.
   */
  const interactions = async (
    parts: readonly ArchivedPart[],
    { limit, most, ...walk }: Bounded,
  ): Promise<ListChunk> => {
    const { window, descending, holder } = walk
    const order = placeOrder(descending)
    const isAsked = inWindow(walk)
    const edge = ({ group: { interactionTime } }: PartGroup) =>
      descending ? interactionTime.last : interactionTime.first
    const place = placeWithin(window, walk.after)
    const groups = (await Promise.all(parts.map((part) => groupsOf(part, holder.accountId))))
      .flat()
      .filter(
        ({
          group: {
            interactionTime: { first, last },
          },
        }) =>
          descending
            ? first <= (place?.time ?? window.to) && last >= window.from
            : last >= (place?.time ?? window.from) && first <= window.to,
      )
      .sort((a, b) => (descending ? edge(b) - edge(a) : edge(a) - edge(b)))
    /** Just before the first interaction of a group. */
    const before = (group: PartGroup): CdrPlace => ({ time: edge(group) + (descending ? 1 : 0), mark: '' })
    const start = place ?? { time: descending ? window.to + 1 : window.from, mark: '' }
    // Without progress the same groups would be read again and again.
    const mayEndBefore = (group: PartGroup) => order(before(group), start) > 0
    const found = new Map<string, CdrRow>()
    let tried = 0
    const settledBefore = (time: number | undefined) =>
      [...found.values()].filter(
        (leg) =>
          time === undefined || (descending ? leg.interaction_time > time : leg.interaction_time < time),
      )
    for (let at = 0; ; at += 1) {
      const group = groups[at]
      const settled = settledBefore(group && edge(group))
      const isEnough = group && tried >= most && mayEndBefore(group)
      if (settled.length >= limit || isEnough || !group) {
        const items = settled.sort((a, b) => order(interactionPlace(a), interactionPlace(b))).slice(0, limit)
        const final = items.at(-1)
        if (final && items.length === limit) return { items, next: interactionPlace(final) }
        return { items, next: group && before(group) }
      }
      const rows = await rowsOf(group)
      tried += rows.length
      for (const leg of rows) {
        if (!isAsked(leg)) continue
        const key = `${leg.interaction_time}-${leg.interaction_key}`
        const known = found.get(key)
        if (!known || byChannelTime(leg, known) < 0) found.set(key, leg)
      }
    }
  }

  return {
    partsOf: register.partsOf,
    legs,
    interactions,

    async find(accountId: string, id: string): Promise<CdrRow | undefined> {
      const month = monthOfId(id)
      for (const part of await register.partsOf(accountId, { first: month, last: month })) {
        for (const one of await groupsOf(part, accountId)) {
          if (!(await files.mayHold(part, one.group, id))) continue
          const found = (await rowsOf(one)).find((leg) => leg.account_id === accountId && leg.id === id)
          if (found) return found
        }
      }
      return undefined
    },

    /** All legs of an interaction, unordered. */
    async legsOf(accountId: string, { time, mark }: CdrPlace): Promise<CdrRow[]> {
      const month = monthAt(time)
      const found: CdrRow[] = []
      for (const part of await register.partsOf(accountId, { first: month, last: month })) {
        for (const one of await groupsOf(part, accountId)) {
          const { first, last } = one.group.interactionTime
          if (time < first || time > last) continue
          for (const leg of await rowsOf(one))
            if (leg.account_id === accountId && leg.interaction_time === time && leg.interaction_key === mark)
              found.push(leg)
        }
      }
      return found
    },

    async *month(month: number): AsyncGenerator<readonly CdrRow[]> {
      for (const file of await register.liveOf(month)) yield* remainingRows(register, files, file)
    },
  }
}

export type ArchiveReading = ReturnType<typeof createArchiveReading>
