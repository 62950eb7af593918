import { useQueries } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Key } from './answers.ts'

/** A page of a list as the API answers it. */
export interface Page<Row> {
  data?: readonly Row[]
  next_start_key?: string
}

/** Reads the page that begins at a key; the first one without. */
export type ReadPage<Row> = (startKey: string | undefined, signal: AbortSignal) => Promise<Page<Row>>

interface Known {
  /** Where each page begins, as far as the list has been read. */
  starts: readonly (string | undefined)[]
  /** How many rows each of them had. */
  lengths: readonly number[]
  isComplete: boolean
}

const nothingKnown: Known = { starts: [undefined], lengths: [], isComplete: false }

// A page that is out of sight goes soon: the page's memory does not grow with the list.
const keptMilliseconds = 5_000

const offsetsOf = (lengths: readonly number[]) => {
  let sum = 0
  return lengths.map((length) => {
    const offset = sum
    sum += length
    return offset
  })
}

const learn = (known: Known, at: number, page: Page<unknown>): Known => {
  const length = page.data?.length ?? 0
  const next = page.next_start_key
  const lengths = [...known.lengths]
  lengths[at] = length
  if (at < known.starts.length - 1 && known.starts[at + 1] === next) {
    return known.lengths[at] === length ? known : { ...known, lengths }
  }
  // The list has changed: what was known behind this page begins elsewhere now.
  lengths.length = at + 1
  const before = known.starts.slice(0, at + 1)
  const starts = next === undefined ? before : [...before, next]
  const isSame = known.lengths[at] === length && known.starts.length === starts.length
  if (isSame && next === undefined && known.isComplete) return known
  return { starts, lengths, isComplete: next === undefined }
}

/** The pages that hold rows from `first` to `last`, and the next unread one from the middle of the last one on. */
const pagesFor = ({ starts, lengths }: Known, offsets: readonly number[], first: number, last: number) =>
  starts.flatMap((_, at) => {
    const length = lengths[at]
    const offset = offsets[at]
    if (length === undefined || offset === undefined) {
      const before = lengths[at - 1] ?? 0
      const total = (offsets[at - 1] ?? 0) + before
      return last >= total - 1 - before / 2 || at === 0 ? [at] : []
    }
    // An empty list is in sight, too: what is added to it is shown.
    const extent = at === 0 ? Math.max(1, length) : length
    return offset <= last && offset + extent > first ? [at] : []
  })

/**
 * A list of any length, read by its keys, of which only the pages in sight are kept. Rows are counted from 0; `count` is
 * how many are known so far.
 */
export const usePages = <Row>(key: Key, read: ReadPage<Row>, every: number | false = false) => {
  const id = JSON.stringify(key)
  const [state, setState] = useState({ id, known: nothingKnown })
  const [sight, setSight] = useState({ first: 0, last: 0 })
  const known = state.id === id ? state.known : nothingKnown
  const offsets = useMemo(() => offsetsOf(known.lengths), [known.lengths])
  const wanted = pagesFor(known, offsets, sight.first, sight.last)
  const results = useQueries({
    queries: wanted.map((at) => ({
      queryKey: [...key, 'page', known.starts[at] ?? ''],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(known.starts[at], signal),
      gcTime: keptMilliseconds,
      staleTime: keptMilliseconds,
      refetchInterval: every,
    })),
  })
  useEffect(() => {
    setState((before) => {
      let next = before.id === id ? before.known : nothingKnown
      results.forEach(({ data }, index) => {
        const at = wanted[index]
        if (data && at !== undefined && at < next.starts.length) next = learn(next, at, data)
      })
      return before.id === id && before.known === next ? before : { id, known: next }
    })
  })
  const rowAt = (index: number): Row | undefined => {
    const place = wanted.findLast((at) => (offsets[at] ?? Number.POSITIVE_INFINITY) <= index)
    if (place === undefined) return undefined
    return results[wanted.indexOf(place)]?.data?.data?.[index - (offsets[place] ?? 0)]
  }
  const see = useCallback(
    (first: number, last: number) =>
      setSight((before) => (before.first === first && before.last === last ? before : { first, last })),
    [],
  )
  const failed = results.find(({ error }) => error)
  const count = (offsets.at(-1) ?? 0) + (known.lengths.at(-1) ?? 0)
  return {
    count,
    isComplete: known.isComplete,
    // A page that a filter leaves empty says nothing of those behind it.
    isFirstLoading: count === 0 && !known.isComplete && !failed,
    rowAt,
    see,
    error: failed?.error,
    again: () => failed?.refetch(),
  }
}
