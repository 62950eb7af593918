import { hasProblems, invalid, type Problems } from '../../../lib/failure.ts'
import { isObject, isTrue, present } from '../../../lib/json.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import type { Quickcall } from '../../../switch/media-switch.ts'

export type CallWishes = Omit<Quickcall, 'phones'>

type Parameter = (name: string) => unknown

const minTimeoutSeconds = 3

const createReader = (parameter: Parameter) => {
  const problems: Problems = {}

  const refuse = (name: string, rule: string, problem: Problems[string][string]) => {
    problems[name] = { [rule]: problem }
    return undefined
  }

  const refuseType = (name: string, target: string, message: string) =>
    refuse(name, 'type', { message: `Value must be ${message}`, target, value: parameter(name) })

  return {
    problems,
    refuse,

    flag(name: string): boolean {
      const value = parameter(name) ?? true
      const isFalse = value === false || value === 'false'
      if (!isFalse && !isTrue(value)) refuseType(name, 'boolean', 'true or false')
      return !isFalse
    },

    text(name: string): string | undefined {
      const value = parameter(name)
      if (value === undefined || typeof value === 'string') return value
      return refuseType(name, 'string', 'text')
    },

    choice(name: string, values: readonly string[]) {
      const value = parameter(name)
      if (value === undefined || values.some((one) => one === value)) return
      const message = 'Value not found in enumerated list of values'
      refuse(name, 'enum', { message, target: values, value })
    },

    seconds(name: string, fallback: number, min: number): number {
      const value = parameter(name) ?? fallback
      const seconds = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
      if (typeof seconds !== 'number' || !Number.isInteger(seconds))
        refuseType(name, 'integer', 'a number of seconds')
      else if (seconds < min)
        refuse(name, 'minimum', { message: `Value must be at least ${min}`, target: min, value })
      return Number(seconds)
    },

    object(name: string) {
      if (!isObject(parameter(name) ?? {})) refuseType(name, 'object', 'an object')
    },
  }
}

type Reader = ReturnType<typeof createReader>

const filterByPattern = (reader: Reader, filter: string, number: string) => {
  const { pattern, problem } = compilePattern(filter)
  if (pattern?.groups === 1) return pattern.firstGroup(number) ?? number
  const message = `The pattern ${problem ?? 'must have one group with the number to call'}`
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
  if (number === '')
    reader.refuse('number', 'invalid', {
      message: 'number: contains no digits. Send the number to call',
      cause: sent,
    })
  return number
}

/** Throws a 400 that names all problems. */
export const callWishesIn = (number: string, parameter: Parameter): CallWishes => {
  const reader = createReader(parameter)
  const wishes = {
    number: numberIn(reader, number),
    phoneDisplay: present({ name: reader.text('cid-name'), number: reader.text('cid-number') }),
    autoAnswer: reader.flag('auto_answer'),
    timeoutSeconds: reader.seconds('timeout', 30, minTimeoutSeconds),
  }
  // Edges carry no media: these have no effect, but must be valid.
  for (const name of ['caller-id-name', 'caller-id-number', 'target_call_id']) reader.text(name)
  reader.flag('ignore-early-media')
  reader.object('custom_application_vars')
  reader.choice('media', ['bypass', 'process'])
  if (hasProblems(reader.problems)) throw invalid(reader.problems)
  return wishes
}
