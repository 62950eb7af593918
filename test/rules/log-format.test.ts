import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config/config.ts'
import { createLog, describeError, type LogOptions } from '../../src/lib/log.ts'

// Pretty lines show local time.
const noon = new Date(2026, 0, 5, 12, 3, 44).getTime()

type Fields = Record<string, unknown>

const lineOf = (message: string, fields?: Fields, options: Partial<LogOptions> = {}) => {
  let text = ''
  const all: LogOptions = { logLevel: 'debug', logFormat: 'pretty', logColors: false, ...options }
  const log = createLog(all, { now: () => noon }, (line) => {
    text += line
  })
  log.write('warn', message, fields)
  return text
}

const request = {
  client_address: '192.0.2.7',
  method: 'GET',
  route: '/v2/accounts/{account_id}',
  status: 200,
  duration_ms: 12.34,
  account_id: '01a1',
  actor: '01a2',
  reason: undefined,
  request_id: 'abc',
  trace_id: 'def',
}

describe('a pretty line', () => {
  it('of a request shows method, route, status and duration', () => {
    expect(lineOf('request', request)).toBe('12:03:44 warn  GET /v2/accounts/{account_id} 200 12 ms\n')
  })

  it('of a fast request shows tenths of a millisecond', () => {
    expect(lineOf('request', { ...request, duration_ms: 1.42 })).toContain(' 200 1.4 ms\n')
    expect(lineOf('request', { ...request, duration_ms: 0.04 })).toContain(' 200 0 ms\n')
  })

  it('of a refused request adds the reason', () => {
    expect(lineOf('request', { ...request, status: 403, reason: 'forbidden' })).toBe(
      '12:03:44 warn  GET /v2/accounts/{account_id} 403 12 ms reason=forbidden\n',
    )
  })

  it('of another event shows its fields as pairs, without absent fields and the trace id', () => {
    const fields = {
      limit: 'connections',
      largest: 1000,
      client_address: '2001:db8::1',
      is_open: false,
      account_id: undefined,
      host: null,
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    }
    expect(lineOf('connections are refused', fields)).toBe(
      '12:03:44 warn  connections are refused limit=connections largest=1000 client_address=2001:db8::1 is_open=false host=null\n',
    )
    expect(lineOf('no fields')).toBe('12:03:44 warn  no fields\n')
  })

  it.each([
    ['two words', '"two words"'],
    ['', '""'],
    ['a=b', '"a=b"'],
    ['say "no"', '"say \\"no\\""'],
    ['C:\\data', '"C:\\\\data"'],
    ['Zoë', 'Zoë'],
    [['a', 1], '["a",1]'],
    [{ a: 'b c' }, '{"a":"b c"}'],
  ])('quotes the value %j if a pair needs it', (value, text) => {
    expect(lineOf('event', { value })).toBe(`12:03:44 warn  event value=${text}\n`)
  })

  it.each([
    ['a line break', 'a\n12:03:45 info  forged', 'a\\n12:03:45 info  forged'],
    ['other breaks', 'a\r\t\u0085\u2028b', 'a\\r\\t\\u0085\\u2028b'],
    ['terminal sequences', '\u001b[2J\u009b1m\u0007', '\\u001b[2J\\u009b1m\\u0007'],
    ['reordered text', '\u202egnp.exe\u{e0001}', '\\u202egnp.exe\\u{e0001}'],
    ['half a surrogate pair', '\ud800', '\\ud800'],
  ])('escapes %s in messages, values, objects and errors', (_what, text, escaped) => {
    expect(lineOf(text)).toBe(`12:03:44 warn  ${escaped}\n`)
    expect(lineOf('event', { value: text })).toBe(`12:03:44 warn  event value="${escaped}"\n`)
    expect(lineOf('event', { value: [text] })).toBe(`12:03:44 warn  event value=["${escaped}"]\n`)
    const error = { name: 'Error', message: text, stack: undefined }
    expect(lineOf('event', { error })).toBe(`12:03:44 warn  event\n  Error: ${escaped}\n`)
  })

  it('is one line without control characters, whatever the fields contain', () => {
    const unit = fc.constantFrom(...'a ="\\\n\r\0\u001b\u009b\u2028\u202e🔑', '\ud83d')
    const text = fc.string({ unit, maxLength: 20 })
    const fields = fc.record({ text, list: fc.array(text, { maxLength: 3 }) })
    const line = /^12:03:44 warn {2}[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*\n$/u
    fc.assert(
      fc.property(text, fields, (message, values) => {
        expect(lineOf(message, values)).toMatch(line)
      }),
    )
  })

  it('colors only the level, and only in a terminal with colors', () => {
    expect(lineOf('event', { a: 1 }, { logColors: true })).toBe(
      '12:03:44 \u001b[33mwarn \u001b[39m event a=1\n',
    )
  })
})

describe('an error in a pretty line', () => {
  it('follows with its stack and its causes on indented lines', () => {
    const cause = new RangeError('too\nlong')
    cause.stack = 'RangeError: too\nlong\n    at inner (b.ts:1:2)'
    const error = new TypeError('no field', { cause })
    error.stack = 'TypeError: no field\n    at outer (a.ts:3:4)\n    at async main (a.ts:5:6)'
    expect(lineOf('a request failed', { error: describeError(error), request_id: 'abc' })).toBe(
      [
        '12:03:44 warn  a request failed request_id=abc',
        '  TypeError: no field',
        '    at outer (a.ts:3:4)',
        '    at async main (a.ts:5:6)',
        '  caused by RangeError: too\\nlong',
        '    at inner (b.ts:1:2)',
        '',
      ].join('\n'),
    )
  })

  it('may have a text as its cause, or be a text itself', () => {
    const error = new Error('no answer', { cause: 'hung up' })
    error.stack = ''
    expect(lineOf('failed', { error: describeError(error) })).toBe(
      '12:03:44 warn  failed\n  Error: no answer\n  caused by hung up\n',
    )
    expect(lineOf('failed', { error: describeError('hung up') })).toBe(
      '12:03:44 warn  failed error="hung up"\n',
    )
  })

  it('shows no message as a frame of its stack', () => {
    const error = new Error('x\n    at forged (c.ts:1:1)')
    error.stack = `Error: ${error.message}\n    at outer (a.ts:3:4)`
    expect(lineOf('failed', { error: describeError(error) })).toBe(
      '12:03:44 warn  failed\n  Error: x\\n    at forged (c.ts:1:1)\n    at outer (a.ts:3:4)\n',
    )
  })
})

describe('a JSON line', () => {
  it('has every field, in the order that scripts match, and no colors', () => {
    const options = { logFormat: 'json', logColors: true } as const
    const { reason, ...present } = request
    const time = new Date(noon).toISOString()
    expect(lineOf('request', request, options)).toBe(
      `${JSON.stringify({ time, level: 'warn', message: 'request', ...present })}\n`,
    )
    expect(lineOf('a\u2028b\u0085', {}, options)).toContain('"message":"a\\u2028b\\u0085"')
  })
})

describe('the format of the log', () => {
  const terminal = { isTerminal: true, hasColors: true }

  it('is pretty at a terminal and JSON elsewhere', () => {
    expect(readConfig({}, terminal).logFormat).toBe('pretty')
    expect(readConfig({}, { isTerminal: false, hasColors: false }).logFormat).toBe('json')
    expect(readConfig({}).logFormat).toBe('json')
  })

  it('is what CROSSPOINT_LOG_FORMAT sets', () => {
    expect(readConfig({ CROSSPOINT_LOG_FORMAT: 'json' }, terminal).logFormat).toBe('json')
    expect(readConfig({ CROSSPOINT_LOG_FORMAT: 'pretty' }).logFormat).toBe('pretty')
  })

  it('has colors if the terminal has them and NO_COLOR is unset', () => {
    expect(readConfig({}, terminal).logColors).toBe(true)
    expect(readConfig({ NO_COLOR: '' }, terminal).logColors).toBe(true)
    expect(readConfig({ NO_COLOR: '1' }, terminal).logColors).toBe(false)
    expect(readConfig({}, { isTerminal: true, hasColors: false }).logColors).toBe(false)
    expect(readConfig({ CROSSPOINT_LOG_FORMAT: 'pretty' }).logColors).toBe(false)
  })

  it.each(['xml', 'JSON', 'pretty,json'])('%s is a mistake, reported with the others', (value) => {
    const read = () => readConfig({ CROSSPOINT_LOG_FORMAT: value, CROSSPOINT_LOG_LEVEL: 'loud' })
    expect(read).toThrow(
      new ConfigError([
        'CROSSPOINT_LOG_LEVEL must be one of debug, info, warn, error, silent',
        'CROSSPOINT_LOG_FORMAT must be one of pretty, json',
      ]),
    )
  })
})
