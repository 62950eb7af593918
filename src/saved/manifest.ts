import { messageOf } from '../lib/error-facts.ts'
import { isObject } from '../lib/json.ts'
import type { Engine } from '../storage/db.ts'
import { Refusal } from '../storage/saved-store.ts'
import { damaged } from './damage.ts'

/** How backups are laid out. Another number is for another layout. */
export const format = 1

/** What a backup says of itself: its first member. */
export interface Manifest {
  format: number
  /** The version that made it. */
  crosspoint: string
  engine: Engine
  /** The last upgrade of the store. */
  upgrade: number
  /** ISO 8601: what was acknowledged before this moment is in it. */
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

/** Reads a manifest; refuses one of a newer version than this, whose newest upgrade of the store is `known`. */
export const readManifest = (text: string, known: number): Manifest => {
  const value = parsed(text)
  if (isObject(value) && typeof value.format === 'number' && value.format > format)
    throw new Refusal('the backup was made by a newer Crosspoint: restore it with that')
  if (!isManifest(value) || value.format !== format) throw damaged('its manifest cannot be read')
  if (value.upgrade > known)
    throw new Refusal(
      `the backup holds a store at upgrade ${value.upgrade}, this version knows ${known}: restore it with Crosspoint ${value.crosspoint} or newer`,
    )
  return value
}
