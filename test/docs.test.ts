// Checks of the pages without their commands. test/processes/docs.test.ts runs the commands.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blocksOf, pagePaths, pageText, root } from './support/matchers/pages.ts'

const linksIn = (path: string) =>
  [...pageText(path).matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))

describe('the pages', () => {
  it('lead to files that are there', () => {
    const dead = [...pagePaths, 'CHANGELOG.md', 'SECURITY.md'].flatMap((path) =>
      linksIn(path)
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    )
    expect(dead).toEqual([])
  })

  it('are numbered as their files where they are decisions', () => {
    for (const path of pagePaths.filter((one) => one.startsWith('docs/decisions/'))) {
      const [, number] = /\/0*(\d+)-/.exec(path) ?? []
      const first = pageText(path).split('\n', 1)[0]
      expect(first, path).toMatch(new RegExp(`^# ${number}\\. `))
    }
  })

  it('are all in the index, decisions as one', () => {
    const listed = new Set(linksIn('docs/README.md').map((target) => join('docs', target)))
    const pages = pagePaths.filter((path) => path.startsWith('docs/') && !path.startsWith('docs/decisions/'))
    expect(pages.filter((path) => path !== 'docs/README.md' && !listed.has(path))).toEqual([])
    expect([...listed]).toContain('docs/decisions')
  })

  it('are reached from the README, compatibility notes among them', () => {
    expect(linksIn('README.md')).toEqual(
      expect.arrayContaining([
        'docs/README.md',
        'docs/reference/compatibility-notes.md',
        'docs/reference/settings.md',
      ]),
    )
  })

  it('name files of the repository that are there', () => {
    const named = [...pagePaths, 'CHANGELOG.md'].flatMap((path) =>
      [...pageText(path).matchAll(/\b(?:docs|examples|test\/data)\/[\w/.-]+\.(?:md|mjs|sh|json|csv)\b/g)]
        .map(([target]) => target)
        .filter((target) => !existsSync(join(root, target)) && !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    )
    expect(named).toEqual([])
  })

  it('list only existing tests in the table of promises', () => {
    const rows = pageText('docs/reference/security-model.md').matchAll(/^\|.+\| (`[^|]+`) \|$/gm)
    const names = [...rows].flatMap(([, cell = '']) => cell.split(', ').map((name) => name.slice(1, -1)))
    const unknown = names
      .filter((name) => name !== 'npm run attack')
      .filter((name) => ![name, `${name}.test.ts`].some((file) => existsSync(join(root, 'test', file))))
    expect(unknown).toEqual([])
    expect(names).toContain('api/ordinary-users')
  })

  it('write their command line in one form, which a fresh clone has', () => {
    const defines = (path: string) => pageText(path).includes('\ncrosspoint() {')
    const bare = pagePaths
      .filter((path) => !defines(path))
      .flatMap((path) =>
        [...pageText(path).matchAll(/(?<!run |npx )\bcrosspoint (?:serve|cdrs|numbers|openapi)\b/g)].map(
          ([text]) => `${path}: ${text}`,
        ),
      )
    expect(bare).toEqual([])
  })

  it('say of every block what it is', () => {
    const languages = new Set(pagePaths.flatMap((path) => blocksOf(path).map(({ language }) => language)))
    // Without a language: what the first start prints.
    expect([...languages].sort()).toEqual(['', 'json', 'sh'])
  })

  it('have commands that are not run for these reasons alone', () => {
    const reasons = pagePaths.flatMap((path) => blocksOf(path).flatMap(({ notRun }) => notRun ?? []))
    expect([...new Set(reasons)].sort()).toEqual([
      'needs Docker, and a name in the DNS.',
      'needs Docker.',
      'needs Litestream; another test has it.',
      'needs a FreeSWITCH.',
      'needs a Kazoo; test/processes/kazoo-compare-database.test.ts has one.',
      'needs a Kazoo; test/processes/kazoo-import.test.ts has one.',
      'needs a PostgreSQL of that name.',
      'needs a PostgreSQL with Citus.',
      'needs a broker at that address.',
      'needs a cluster.',
      'needs a mail server of that name.',
      'needs an empty Debian machine and root.',
      'needs an empty place.',
      'needs another machine.',
      'needs fail2ban and the rights to set it up.',
      'needs systemd and root.',
      'needs three servers of these names.',
      'needs two Debian machines and root.',
      'needs two servers of these names.',
      'repeats tests.',
      'takes minutes to an hour.',
      'test/processes/first-call.test.ts does.',
      'test/processes/first-call.test.ts runs commands like these.',
      'test/processes/package.test.ts does.',
      'the first of a month makes invoices. ID=...',
    ])
  })
})
