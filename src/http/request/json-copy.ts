import { isExactNumber, isObject, type Json, maxDepth } from '../../lib/json.ts'

export type Segment = string | number

/** A value that cannot be stored, whatever the schema allows. */
export interface Flaw {
  path: Segment[]
  kind: 'depth' | 'text' | 'number'
}

export interface JsonCopy {
  copy: unknown
  /** Including itself. */
  values: number
  flaws: Flaw[]
  /** Top-level keys that contain a flaw. */
  flawedKeys: Set<Segment>
}

const reportedFlaws = 100

// PostgreSQL stores neither in text.
const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\0')

/** The number of values; NaN if one cannot be stored. */
const soundScalar = (value: unknown, areTextsSound: boolean) => {
  const isSound =
    typeof value === 'string'
      ? areTextsSound || isStorableText(value)
      : typeof value !== 'number' || isExactNumber(value)
  return isSound ? 1 : Number.NaN
}

const soundValues = (value: unknown, areTextsSound: boolean, depth: number): number => {
  if (typeof value !== 'object' || value === null) return soundScalar(value, areTextsSound)
  if (depth >= maxDepth) return Number.NaN
  let values = 1
  if (Array.isArray(value)) {
    for (const item of value) values += soundValues(item, areTextsSound, depth + 1)
    return values
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || !(areTextsSound || isStorableText(key))) return Number.NaN
    values += soundValues((value as Json)[key], areTextsSound, depth + 1)
  }
  return values
}

/** Returns the data itself if it has no flaws: checking is much faster than copying. */
export const takeJson = (data: unknown, { areTextsSound }: { areTextsSound: boolean }): JsonCopy => {
  const values = soundValues(data, areTextsSound, 0)
  return Number.isNaN(values) ? copyJson(data) : { copy: data, values, flaws: [], flawedKeys: new Set() }
}

/** A deep copy without `__proto__` keys, and its flaws. */
export const copyJson = (data: unknown): JsonCopy => {
  const flaws: Flaw[] = []
  const flawedKeys = new Set<Segment>()
  const path: Segment[] = []
  let values = 0

  const report = (kind: Flaw['kind'], key: Segment | undefined) => {
    const place = key === undefined ? [...path] : [...path, key]
    if (place[0] !== undefined) flawedKeys.add(place[0])
    if (flaws.length < reportedFlaws) flaws.push({ path: place, kind })
  }

  const copyArray = (source: unknown[]) => {
    const copy = new Array(source.length)
    for (let index = 0; index < source.length; index += 1) copy[index] = copyValue(source[index], index)
    return copy
  }

  const copyObject = (source: Record<string, unknown>) => {
    const copy: Record<string, unknown> = {}
    for (const key of Object.keys(source)) {
      if (key === '__proto__') continue
      if (!isStorableText(key)) report('text', key)
      copy[key] = copyValue(source[key], key)
    }
    return copy
  }

  const copyContainer = (source: Json | unknown[], key: Segment | undefined) => {
    const depth = key === undefined ? 0 : path.length + 1
    if (depth >= maxDepth) {
      report('depth', key)
      return null
    }
    if (key !== undefined) path.push(key)
    const copy = Array.isArray(source) ? copyArray(source) : copyObject(source)
    if (key !== undefined) path.pop()
    return copy
  }

  const copyValue = (value: unknown, key?: Segment): unknown => {
    values += 1
    if (typeof value === 'string') {
      if (!isStorableText(value)) report('text', key)
    } else if (typeof value === 'number') {
      if (!isExactNumber(value)) report('number', key)
    } else if (Array.isArray(value) || isObject(value)) {
      return copyContainer(value, key)
    }
    return value
  }

  return { copy: copyValue(data), values, flaws, flawedKeys }
}
