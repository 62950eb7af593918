import { messageOf } from '../lib/error-facts.ts'
import { isObject } from '../lib/json.ts'
import type { Engine } from '../storage/db.ts'
import { Refusal } from '../storage/saved-store.ts'
import { damaged } from './tar.ts'

/** Version of the layout. */
export const format = 1

/** The first member of a backup. */
export interface Manifest {
  format: number
  crosspoint: string
  engine: Engine
  upgrade: number
  /** ISO 8601: earlier commits are in the backup. */
  as_of: string
  /** Rows by table. */
  counts: Record<string, number>
}

const isManifest = (value: unknown): value is Manifest =>
  isObject(value) &&
  typeof value.crosspoint === 'string' &&
  (value.engine === 'sqlite' || value.engine === 'postgres') &&
  typeof value.upgrade === 'number' &&
  typeof value.as_of === 'string' &&
  isObject(value.counts) &&
  Object.values(value.counts).every((count) => typeof count === 'number')

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw damaged(`its manifest cannot be read (${messageOf(error)})`)
  }
}

/** Refuses a manifest of a newer version; `known` is the newest upgrade of this one. */
export const readManifest = (text: string, known: number): Manifest => {
  const value = parsed(text)
  if (isObject(value) && typeof value.format === 'number' && value.format > format)
    throw new Refusal('the backup was made by a newer Crosspoint: restore it with that version')
  if (!isManifest(value) || value.format !== format) throw damaged('its manifest cannot be read')
  if (value.upgrade > known)
    throw new Refusal(
      `the backup contains a store at upgrade ${value.upgrade}, this version supports ${known}: restore it with Crosspoint ${value.crosspoint} or newer`,
    )
  return value
}
