import { styleText } from 'node:util'
import { isoTime } from './clock.ts'

export const logFormats = ['pretty', 'json'] as const
export type LogFormat = (typeof logFormats)[number]

const levelColors = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const

interface LogEntry {
  /** Unix milliseconds. */
  time: number
  level: keyof typeof levelColors
  message: string
  fields: Readonly<Record<string, unknown>>
}

/** `cause` is another error, or a text. */
export interface LoggedError {
  name: string
  message: string
  stack: string | undefined
  cause?: unknown
}

const hexEscape = (character: string) => {
  const hex = (character.codePointAt(0) ?? 0).toString(16)
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}

// JSON does not escape these, but some log readers end a line at them.
const otherBreaks = /[\u007f-\u009f\u2028\u2029]/g

/** The order of fields is part of the format. */
export const jsonLine = ({ time, level, message, fields }: LogEntry) =>
  `${JSON.stringify({ time: isoTime(time), level, message, ...fields }).replace(otherBreaks, hexEscape)}\n`

// Characters that a terminal executes, hides or reorders.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const printable = (text: string) =>
  text.replace(unprintable, (character) => shortEscapes[character] ?? hexEscape(character))

const needsQuotes = /^$|[\s"'\\=\p{C}]/u

const valueText = (value: unknown) => {
  if (typeof value !== 'string') return printable(String(JSON.stringify(value)))
  return needsQuotes.test(value) ? `"${printable(value.replace(/["\\]/g, '\\$&'))}"` : value
}

const isLoggedError = (value: unknown): value is LoggedError =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value && 'stack' in value

/** Without the message. */
const framesOf = ({ message, stack = '' }: LoggedError) => {
  const start = stack.indexOf(message)
  return stack.slice(start < 0 ? 0 : start + message.length).match(/^ +at .+$/gm) ?? []
}

const errorLines = (error: unknown, label = ''): string[] => {
  if (!isLoggedError(error)) return [`  ${label}${printable(String(error))}`]
  return [
    `  ${label}${printable(`${error.name}: ${error.message}`)}`,
    ...framesOf(error).map((frame) => `    ${printable(frame.trim())}`),
    ...('cause' in error ? errorLines(error.cause, 'caused by ') : []),
  ]
}

const durationText = (ms: number) => `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`

/** JSON lines also have ids and addresses. */
const shortened = ({ message, fields }: LogEntry) => {
  const { method, route, status, duration_ms: ms, reason } = fields
  if (message !== 'request' || typeof ms !== 'number')
    return { message, fields: { ...fields, trace_id: undefined } }
  return { message: `${method} ${route} ${status} ${durationText(ms)}`, fields: { reason } }
}

/** For people: time, level, message, `key=value`, errors on further lines; no control characters. */
export const createPrettyLine = ({ hasColors }: { hasColors: boolean }) => {
  const levelText = (level: LogEntry['level']) =>
    hasColors ? styleText(levelColors[level], level.padEnd(5), { validateStream: false }) : level.padEnd(5)

  return (entry: LogEntry) => {
    const { message, fields } = shortened(entry)
    const present = Object.entries(fields).filter(([, value]) => value !== undefined)
    const pairs = present.filter(([, value]) => !isLoggedError(value))
    const head = [
      new Date(entry.time).toTimeString().slice(0, 8),
      levelText(entry.level),
      printable(message),
      ...pairs.map(([key, value]) => `${key}=${valueText(value)}`),
    ].join(' ')
    const errors = present.flatMap(([, value]) => (isLoggedError(value) ? errorLines(value) : []))
    return [head, ...errors, ''].join('\n')
  }
}
