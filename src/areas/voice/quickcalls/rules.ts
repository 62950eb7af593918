import { hasProblems, invalid, type Problems } from '../../../lib/failure.ts'
import { isObject } from '../../../lib/json.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import type { Quickcall } from '../../../switch/media-switch.ts'

export type CallWishes = Omit<Quickcall, 'phones'>

type Parameter = (name: string) => unknown

const shortestTimeoutSeconds = 3

const createReader = (parameter: Parameter) => {
  const problems: Problems = {}

  const refuse = (name: string, rule: string, problem: Problems[string][string]) => {
    problems[name] = { [rule]: problem }
    return undefined
  }

  return {
    problems,
    refuse,

    flag(name: string, fallback: boolean): boolean {
      const value = parameter(name) ?? fallback
      if (value === true || value === 'true') return true
      if (value === false || value === 'false') return false
      refuse(name, 'type', { message: 'Value must be true or false', target: 'boolean', value })
      return fallback
    },

    text(name: string): string | undefined {
      const value = parameter(name)
      if (value === undefined || typeof value === 'string') return value
      return refuse(name, 'type', { message: 'Value must be text', target: 'string', value })
    },

    choice<T extends string>(name: string, values: readonly T[]): T | undefined {
      const value = parameter(name)
      const chosen = values.find((one) => one === value)
      if (value === undefined || chosen !== undefined) return chosen
      const message = 'Value not found in enumerated list of values'
      return refuse(name, 'enum', { message, target: values, value })
    },

    seconds(name: string, fallback: number, least: number): number {
      const value = parameter(name) ?? fallback
      const seconds = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
      if (typeof seconds !== 'number' || !Number.isInteger(seconds)) {
        refuse(name, 'type', { message: 'Value must be a number of seconds', target: 'integer', value })
      } else if (seconds < least) {
        refuse(name, 'minimum', { message: `Value must be at least ${least}`, target: least, value })
      }
      return Number(seconds)
    },

    object(name: string): Record<string, unknown> {
      const value = parameter(name) ?? {}
      if (isObject(value)) return value
      refuse(name, 'type', { message: 'Value must be an object', target: 'object', value })
      return {}
    },
  }
}

type Reader = ReturnType<typeof createReader>

const filterByPattern = (reader: Reader, filter: string, number: string) => {
  const { pattern, problem } = compilePattern(filter)
  if (pattern?.groups === 1) return pattern.firstGroup(number) ?? number
  const message = `The pattern ${problem ?? 'must have one group: what it holds is called'}`
  reader.refuse('number_filter', 'wrong_format', { message, format: 'regex', value: filter })
  return number
}

const filtered = (reader: Reader, number: string) => {
  const filter = reader.text('number_filter') ?? 'true'
  if (filter === 'false') return number
  return filter === 'true' ? number.replace(/[\s,.()-]/g, '') : filterByPattern(reader, filter, number)
}

const numberIn = (reader: Reader, sent: string) => {
  const number = filtered(reader, sent)
  if (number === '') reader.refuse('number', 'invalid', { message: 'There is nothing to call', cause: sent })
  return number
}

const withoutUndefined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

/** Throws a 400 that names all problems. */
export const callWishesIn = (number: string, parameter: Parameter): CallWishes => {
  const reader = createReader(parameter)
  const name = reader.text('caller-id-name') ?? 'Device QuickCall'
  const wishes = {
    number: numberIn(reader, number),
    callerId: withoutUndefined({ name, number: reader.text('caller-id-number') }),
    phoneDisplay: withoutUndefined({ name: reader.text('cid-name'), number: reader.text('cid-number') }),
    autoAnswer: reader.flag('auto_answer', true),
    ignoreEarlyMedia: reader.flag('ignore-early-media', true),
    media: reader.choice('media', ['bypass', 'process']),
    timeoutSeconds: reader.seconds('timeout', 30, shortestTimeoutSeconds),
    targetCallId: reader.text('target_call_id'),
    applicationVariables: reader.object('custom_application_vars'),
  }
  if (hasProblems(reader.problems)) throw invalid(reader.problems)
  return withoutUndefined(wishes)
}
