import { createCsvReader } from '@crosspoint/client'
import type { Action } from './actions.ts'

/** The beginning of a file, as a table. */
export interface Preview {
  header: readonly string[]
  rows: readonly (readonly string[])[]
  /** Guessed from the rows of the beginning, where the file is longer. */
  rowCount: number
  isGuess: boolean
}

// A file of any size is looked at up to here.
const previewBytes = 256 * 1024
const previewRows = 20

/** Reads the beginning of a file and nothing else of it. */
export const previewOf = async (file: File): Promise<Preview> => {
  const isWhole = file.size <= previewBytes
  const text = await file.slice(0, previewBytes).text()
  const reader = createCsvReader()
  // A byte order mark is no part of the first name.
  const lines = reader.take(text.replace(/^\uFEFF/, ''))
  if (isWhole) lines.push(...reader.end())
  const [header = [], ...rows] = lines
  return {
    header,
    rows: rows.slice(0, previewRows),
    rowCount: isWhole ? rows.length : Math.round((file.size / previewBytes) * rows.length),
    isGuess: !isWhole,
  }
}

export interface HeaderCheck {
  missing: readonly string[]
  unknown: readonly string[]
}

/** Which columns an action needs that a file does not have, and the other way round. */
export const checkHeader = (
  header: readonly string[],
  { mandatory, optional }: NonNullable<Action['columns']>,
): HeaderCheck => ({
  missing: mandatory.filter((name) => !header.includes(name)),
  unknown: header.filter((name) => !mandatory.includes(name) && !optional.includes(name)),
})
