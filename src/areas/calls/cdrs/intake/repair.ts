import { storable, withoutControlCharacters } from '../../../../lib/control-characters.ts'
import { hasProblems, type Problems } from '../../../../lib/failure.ts'
import { isExactNumber, isObject, type Json, maxDepth } from '../../../../lib/json.ts'
import { memberOf } from '../../../../lib/member.ts'
import { placeOf } from '../../../../lib/property-path.ts'
import type { Cdr } from '../schema.ts'
import { withStoredCallIds } from './rules.ts'

// Fields that describe a call may contain what its far end sent. They are repaired instead of rejected.

const billedVars = [
  'account_id',
  'account_billing',
  'reseller_billing',
  'rate',
  'rate_increment',
  'rate_minimum',
  'rate_nocharge_time',
  'surcharge',
  'exact_rate',
  'exact_surcharge',
  'discount_percentage',
  'billing_seconds_offset',
].map((name) => `custom_channel_vars.${name}`)

/** Fields that identify or bill a call. They are never repaired. */
const billed: ReadonlySet<string> = new Set([
  'call_id',
  'call_direction',
  'duration_seconds',
  'billing_seconds',
  'timestamp',
  'custom_channel_vars',
  ...billedVars,
])

const soundText = (text: string, path: string) => (billed.has(path) ? text : storable(text))

const soundObject = (value: object, path: string, depth: number): Json => {
  const kept: Json = {}
  for (const [key, inner] of Object.entries(value)) {
    const one =
      key === '__proto__' ? undefined : sound(inner, path === '' ? key : `${path}.${key}`, depth + 1)
    if (one !== undefined) kept[storable(key)] = one
  }
  return kept
}

/**
 * The value with texts that can be stored, without inexact numbers and too deep nesting. Billed fields stay unchanged.
 * In lists, null replaces what was removed.
 */
const sound = (value: unknown, path: string, depth: number): unknown => {
  if (typeof value === 'string') return soundText(value, path)
  if (typeof value === 'number') return isExactNumber(value) || billed.has(path) ? value : undefined
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return undefined
  if (Array.isArray(value)) return value.map((item) => sound(item, `${path}.`, depth + 1) ?? null)
  return soundObject(value, path, depth)
}

const mended = (value: unknown, problems: Problems[string]) => {
  if (typeof value === 'string') {
    const text = withoutControlCharacters(value)
    return text === value ? undefined : text
  }
  const isTextWanted = String(problems.type?.target).includes('string')
  return isTextWanted && typeof value !== 'object' ? String(value) : undefined
}

/** Repairs or removes the value at a path. If the path was shortened in the report, its top-level field is removed. */
const mend = (record: Json, path: string, problems: Problems[string]) => {
  const keys = placeOf(path)
  const last = keys.at(-1) ?? ''
  const holder = keys.slice(0, -1).reduce<unknown>((value, key) => memberOf(value, key), record)
  if (!isObject(holder) || !Object.hasOwn(holder, last)) {
    delete record[keys[0] ?? '']
    return
  }
  const value = mended(holder[last], problems)
  if (value === undefined) delete holder[last]
  else holder[last] = value
}

const removeField = (record: Json, path: string) => {
  const [top = '', inner = ''] = placeOf(path)
  const vars = record.custom_channel_vars
  if (top === 'custom_channel_vars' && isObject(vars)) delete vars[inner]
  else delete record[top]
}

const billedIn = (problems: Problems): Problems =>
  Object.fromEntries(Object.entries(problems).filter(([path]) => billed.has(path)))

interface Validated {
  value: Cdr
  problems: Problems
}

// Validation reports up to 500 problems. The first rounds repair these values; later rounds remove their fields.
const mendingRounds = 3
const maxRounds = 100

/** The record with repaired descriptive fields, and the problems that remain. */
export const repaired = async (
  sent: Json,
  validate: (record: Json) => Promise<Validated>,
): Promise<Validated> => {
  const record = soundObject(withStoredCallIds(sent), '', 0)
  for (let round = 1; ; round += 1) {
    const { value, problems } = await validate(record)
    const found = billedIn(problems)
    if (hasProblems(found)) return { value, problems: found }
    if (!hasProblems(problems) || round === maxRounds) return { value, problems }
    for (const [path, rules] of Object.entries(problems)) {
      if (round <= mendingRounds) mend(record, path, rules)
      else removeField(record, path)
    }
  }
}
