import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import { joinPieces, type ListPiece } from '../archive/rules.ts'
import type { CdrRow } from '../columns.ts'
import { type Bounded, liesInFiles, type Part, type Parts, type Sight } from '../parts/store.ts'
import type { Place } from '../reading/rules.ts'
import { createParams, selectedColumns } from '../reading/store.ts'

const placeOf = (leg: CdrRow): Place => ({ time: leg.created, mark: leg.id })

/** Legs of a part as they are stored, with those that lie in files; filters try `triedAtOnce` of them at a time. */
export const createLegPieces = (
  store: Store,
  { inPart, placeAfter, statementOf }: Parts,
  archive: ArchiveReading | undefined,
  triedAtOnce: number,
) => {
  const readPart = (part: Bounded<Part>, limit: number, long: boolean) => {
    const { params, mark } = createParams()
    const statement = statementOf(part, { mark })
    const size = mark(limit)
    const read = long ? store.scan : store.all
    return inPart(part, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)} LIMIT ${size}`, params),
    )
  }

  /** With filters a piece is what one trial keeps: maybe nothing, and still not the end. */
  const storedPiece = async (part: Part, limit: number, long: boolean): Promise<ListPiece> => {
    const isFiltered = part.scope.questions.length > 0
    const until = isFiltered ? await placeAfter(part, triedAtOnce) : undefined
    const items = await readPart({ ...part, until }, limit, long || isFiltered)
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : until }
  }

  const archivedPiece = (
    { scope, stretch, after, descending }: Part,
    parts: Sight['parts'],
    limit: number,
  ) => {
    const { questions, ownerId } = scope
    const asked = { holder: scope, window: stretch, after, descending, questions, limit }
    const passesOver = questions.length > 0 || ownerId !== undefined
    const most = passesOver ? triedAtOnce : Number.POSITIVE_INFINITY
    return archive?.legs(parts, { ...asked, most }) ?? { items: [], next: undefined }
  }

  const pieceOf = async (part: Part, parts: Sight['parts'], limit: number, long: boolean) => {
    if (!liesInFiles(part.stretch, parts)) return storedPiece(part, limit, long)
    const pieces = await Promise.all([storedPiece(part, limit, long), archivedPiece(part, parts, limit)])
    return joinPieces(pieces, { limit, descending: part.descending, placeOf })
  }

  return { pieceOf }
}
