import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findTurns, type Kind, patterns, textsOf } from '../support/matchers/wording.ts'

const root = join(import.meta.dirname, '../..')
const ceilingFile = join(root, 'test/expected/wording.json')
type Counts = Record<string, number>

const generated = /^test\/(?:data\/|rules\/wording\.test\.ts|support\/matchers\/wording\.ts)/

const hits = () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')
  return files
    .filter((path) => path !== '' && !generated.test(path))
    .flatMap((path) => textsOf(path, readFileSync(join(root, path), 'utf8')))
    .flatMap((text) => findTurns(text).map((turn) => ({ ...text, ...turn })))
}

const keyOf = ({ kind, name }: { kind: Kind; name: string }) => `${kind}: ${name}`

describe('the wording of documents, comments, messages, screens and tests', () => {
  it('has no more hard turns of phrase than before (npm run generate lowers the ceilings)', () => {
    const found = hits()
    const counts: Counts = {}
    for (const hit of found) counts[keyOf(hit)] = (counts[keyOf(hit)] ?? 0) + 1
    const ceilings: Counts = JSON.parse(readFileSync(ceilingFile, 'utf8'))
    const above = Object.keys(counts).filter((key) => (counts[key] ?? 0) > (ceilings[key] ?? 0))
    const lines = found
      .filter((hit) => above.includes(keyOf(hit)))
      .map(({ path, line, name, words }) => `${path}:${line}: ${name}: ${words}`)
    expect(lines).toEqual([])
    if (!process.env.UPDATE_EXPECTED) return
    const lowered = Object.fromEntries(
      Object.keys(counts)
        .sort()
        .map((key) => [key, counts[key]]),
    )
    writeFileSync(ceilingFile, `${JSON.stringify(lowered, null, 2)}\n`)
  })

  it.each([
    ['documents', 'a.md', 'Whoever asks is asked.\n```\nwhoever\n```\nRun `whoever`.', 'whoever'],
    ['comments', 'a.ts', '// The rows that\n// lie there.\nconst whoever = 1', 'lies'],
    ['messages', 'a.ts', "fail('this is judged here')", 'judges'],
    ['screens', 'console/texts/en.json', '{\n  "a": "Top up by itself"\n}', 'by itself'],
    ['configuration', 'a.cfg', 'route() # is told of it', 'is told'],
    ['tests', 'test/a.test.ts', "it('the call goes on', () => {})", 'goes on'],
  ])('is read in %s: %s', (kind, path, text, name) => {
    const found = textsOf(path, text).flatMap((part) => findTurns(part).map((turn) => [part.kind, turn.name]))
    expect(found).toEqual([[kind, name]])
  })

  it('allows a line that is marked', () => {
    expect(textsOf('a.md', 'Whoever <!-- words-ok -->').flatMap(findTurns)).toEqual([])
  })

  it('knows each pattern by one name', () => {
    expect(Object.keys(patterns).length).toBe(30)
  })
})
