import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from './archive/reading.ts'
import type { CdrRow } from './columns.ts'
import {
  createParams,
  createPartLists,
  heldBy,
  interactionOrder,
  type LineView,
  monthsOf,
  orderBy,
  type Params,
  type Part,
  rangeOf,
  type Scope,
  selectedColumns,
  sheetOf,
} from './parts.sql.ts'
import {
  joinChunks,
  type ListChunk,
  monthsOfInteractions,
  type Place,
  type Stretch,
  windowOf,
} from './places.rules.ts'
import { byChannelTime } from './rules.ts'
import { usualTrial } from './store.ts'

// The same order as `byChannelTime` in rules.ts.
const channelTime = `COALESCE(channel_created_time,
  (created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset}) * 1000000)`
const firstChannel = `ORDER BY ${channelTime},
  CASE loopback_leg WHEN 'A' THEN 0 WHEN 'B' THEN 1 ELSE 2 END, id LIMIT 1`

const placeOf = (leg: CdrRow): Place => ({ time: leg.interaction_time, mark: leg.interaction_key })

/** Interactions, each shown by the leg with the first channel. */
export const createInteractionStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store

  const foundIn = ({ scope, stretch, after, until, descending }: Part, { mark }: Pick<Params, 'mark'>) => {
    const ends = { after, until, descending }
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, interactionOrder, ends, mark)}`
    return (from: string) =>
      `SELECT DISTINCT interaction_time AS found_time, interaction_key AS found_key FROM ${from}
        WHERE ${rows} ${orderBy(interactionOrder, descending)}`
  }

  /** The first leg of each interaction, as SQL from FROM on. */
  const statementOf = (part: Part, limit: number | undefined, { mark }: Pick<Params, 'mark'>) => {
    const found = foundIn(part, { mark })
    const held = heldBy(part.scope, mark)
    const account = mark(part.scope.accountId)
    const bound = limit === undefined ? '' : `LIMIT ${mark(limit)}`
    // Without MATERIALIZED PostgreSQL searches all legs of the account.
    const firsts = (from: string) => `(WITH firsts AS MATERIALIZED (
        SELECT found_time, found_key, (
          SELECT id FROM ${from} WHERE ${held}
            AND interaction_time = found_time AND interaction_key = found_key ${firstChannel}) AS first_id
        FROM (${found(from)} ${bound}) AS found) SELECT * FROM firsts) AS firsts`
    const scope = `account_id = ${account}`
    const legs = (from: string) =>
      words.withRows({ given: firsts(from), from, scope, key: 'id', is: 'first_id' })
    return (from: string) => `FROM ${legs(from)}
      ${orderBy({ time: 'found_time', mark: 'found_key' }, part.descending)}`
  }

  /** An interaction is in the month of its time. */
  const sight = async (scope: Scope) => {
    const range = monthsOfInteractions(scope)
    // Before the files: see `sight` in store.ts.
    const archived = await cdrs.archivedMonths()
    const files = (await archive?.partsOf(scope.accountId, range)) ?? []
    const stored = await cdrs.read({ ...range, archived }, async (_from, months) => months)
    const months = [...new Set([...stored, ...files.map(({ month }) => month)])].sort((a, b) => a - b)
    const stretches = months.map((month): Stretch => {
      const { from, to } = windowOf(month)
      return { from: Math.max(from, scope.from), to: Math.min(to, scope.to), months: [month] }
    })
    const filesOf = ({ months: [of] }: Stretch) => files.filter(({ month }) => month === of)
    return { stretches, archived, filesOf }
  }

  const inPart = <T>(part: Part, query: (from: string) => Promise<T>) => cdrs.read(monthsOf(part), query)

  const linesSql = (part: Part, view: LineView) => {
    const { params, mark } = createParams()
    const sheet = sheetOf(words, view.forReseller, mark(view.utcOffset))
    const statement = statementOf(part, undefined, { mark })
    return inPart(part, (from) =>
      store.csvLines({
        ...sheet,
        orderedBy: ['found_time', 'found_key'],
        tail: statement(from),
        params,
        byBlock: false,
      }),
    )
  }

  const placeAfter = async (
    part: Part,
    interactions: number,
    scan: Store['scan'],
  ): Promise<Place | undefined> => {
    const { params, mark } = createParams()
    const found = foundIn(part, { mark })
    const [row] = await inPart(part, (from) =>
      scan<FoundRow>(`${found(from)} LIMIT 1 OFFSET ${interactions - 1}`, params),
    )
    return row && { time: row.found_time, mark: row.found_key }
  }

  const storedPiece = async (part: Part, limit: number, long: boolean): Promise<ListChunk> => {
    const { params, mark } = createParams()
    const statement = statementOf(part, limit, { mark })
    const read = long ? store.scan : store.all
    const items = await inPart(part, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)}`, params),
    )
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : undefined }
  }

  /** Some legs may be in files and others, that arrived late, in the store. */
  const pieceOf = async (part: Part, limit: number, long: boolean): Promise<ListChunk> => {
    const { scope, stretch, files, after, descending } = part
    if (!archive || files.length === 0) return storedPiece(part, limit, long)
    const most = scope.ownerId === undefined ? Number.POSITIVE_INFINITY : triedAtOnce
    const asked = { holder: scope, window: stretch, after, descending, limit, most }
    const pieces = [storedPiece(part, limit, long), archive.interactions(files, asked)]
    const choose = (a: CdrRow, b: CdrRow) => (byChannelTime(a, b) <= 0 ? a : b)
    return joinChunks(await Promise.all(pieces), { limit, descending, placeOf, choose })
  }

  const { batch, lines } = createPartLists(store, { sight, pieceOf, placeAfter, linesSql }, triedAtOnce)
  return { batch, lines }
}

interface FoundRow {
  found_time: number
  found_key: string
}
