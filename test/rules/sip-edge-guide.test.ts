// The log lines that docs/guides/phone-does-not-register.md lists are those of ops/kamailio.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const textOf = (path: string) => readFileSync(new URL(path, root), 'utf8')

const configuration = readdirSync(new URL('ops/kamailio', root))
  .filter((name) => name.endsWith('.cfg'))
  .map((name) => textOf(`ops/kamailio/${name}`))
  .join('\n')

/** The files that name the reasons of refusals. */
const sources = [
  configuration,
  textOf('src/areas/voice/edge/operations.ts'),
  textOf('src/areas/voice/access-lists/rules.ts'),
].join('\n')

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const formats = [...configuration.matchAll(/xlog\("L_[A-Z]+", "(.*?)\\n"\)/g)].map(
  ([, format = '']) => format,
)

const patterns = formats.map(
  (format) =>
    new RegExp(
      `^${format
        .split(/\$(?:var\(\w+\)|\w+)/)
        .map(escaped)
        .join('\\S+')}$`,
    ),
)

const rows = textOf('docs/guides/phone-does-not-register.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Symptom'))
  .map((line) => line.slice(2, -2).split(' | '))

/** The page has the status and the reason of a refusal: the end of the line. */
const wholeLine = (text: string) =>
  /^\d{3} \w+$/.test(text)
    ? `REGISTER of sip:ada@acme.example.com from 203.0.113.7 is refused: ${text}`
    : text

const lines = rows.map(([, line = '']) => line).filter((line) => line !== 'none')

it('has a cause and a remedy for each symptom', () => {
  expect(rows.length).toBeGreaterThan(10)
  for (const row of rows) expect([row, row.length]).toEqual([row, 4])
})

it.each(lines)('has a log line that an edge writes: %s', (line) => {
  const text = wholeLine(line.slice(1, -1))
  expect(patterns.filter((pattern) => pattern.test(text))).toHaveLength(1)
  const reason = /is refused: \d+ (\w+)$/.exec(text)?.[1]
  if (reason !== undefined) expect(sources).toMatch(new RegExp(`["']${reason}["']`))
})

it('names values that exist', () => {
  const names = textOf('docs/guides/phone-does-not-register.md').match(/\b[A-Z]+_[A-Z_]+\b/g) ?? []
  for (const name of names) expect(configuration).toContain(`#!define ${name} `)
})
