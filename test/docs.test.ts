// What can be seen of the pages without running them. test/processes/docs.test.ts runs their commands.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blocksOf, commandsOf, pagePaths, pageText, reasonNotToRun, root } from './support/matchers/pages.ts'

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

  it('are reached from the README, choices among them', () => {
    expect(linksIn('README.md')).toEqual(
      expect.arrayContaining(['docs/README.md', 'docs/behaviour/choices.md', 'docs/reference/settings.md']),
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
    const rows = pageText('docs/reference/security.md').matchAll(/^\|.+\| (`[^|]+`) \|$/gm)
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
    expect([...languages].sort()).toEqual(['', 'json', 'opensips', 'sh', 'xml'])
  })

  it('have commands that are not run for these reasons alone', () => {
    const reasons = pagePaths.flatMap((path) =>
      commandsOf(path).flatMap((block) => {
        const reason = reasonNotToRun(block)
        return reason === undefined ? [] : [`${path}: ${reason}`]
      }),
    )
    expect(reasons).toEqual([
      'docs/from-kazoo.md: needs a Kazoo; test/processes/kazoo-import.test.ts has one.',
      'docs/from-kazoo.md: needs a Kazoo; test/processes/kazoo-import.test.ts has one.',
      'docs/from-kazoo.md: needs a Kazoo; test/processes/kazoo-compare-database.test.ts has one.',
      'docs/from-kazoo.md: needs a Kazoo; test/processes/kazoo-compare.test.ts has two servers.',
      'docs/from-kazoo.md: needs a Kazoo; test/processes/kazoo-export.test.ts has a CouchDB.',
      'docs/guides/backup.md: needs an empty place.',
      'docs/guides/backup.md: needs another machine.',
      'docs/guides/backup.md: needs Litestream; another test has it.',
      'docs/guides/billing.md: the first of a month makes invoices. ID=...',
      'docs/guides/deploying.md: test/processes/package.test.ts does.',
      'docs/guides/deploying.md: needs systemd and root.',
      'docs/guides/deploying.md: needs Docker.',
      'docs/guides/deploying.md: needs Docker, and a name in the DNS.',
      'docs/guides/deploying.md: needs a cluster.',
      'docs/guides/freeswitch.md: needs a FreeSWITCH.',
      'docs/guides/freeswitch.md: needs a FreeSWITCH.',
      'docs/guides/getting-in.md: needs fail2ban and the rights to set it up.',
      'docs/guides/growing.md: needs a PostgreSQL of that name.',
      'docs/guides/growing.md: needs a PostgreSQL of that name.',
      'docs/guides/growing.md: needs two servers of these names.',
      'docs/guides/growing.md: needs three servers of these names.',
      'docs/guides/mail.md: needs a mail server of that name.',
      'docs/guides/message-bus.md: needs a broker at that address.',
      'docs/guides/opensips.md: needs an OpenSIPS.',
      'docs/guides/passkeys.md: needs a browser with an authenticator.',
      'docs/guides/passkeys.md: needs a browser with an authenticator.',
      'docs/guides/sip-edge.md: needs two Debian machines and root.',
      'docs/guides/sip-edge.md: test/processes/first-call.test.ts runs commands like these.',
      'docs/guides/switch.md: needs an edge at that address.',
      'docs/reference/performance.md: takes minutes to an hour.',
      'docs/reference/tests.md: repeats tests.',
      'docs/reference/tests.md: needs a PostgreSQL of that name.',
      'docs/reference/tests.md: needs a PostgreSQL with Citus.',
      'docs/start/first-call.md: needs an empty Debian machine and root.',
      ...Array(5).fill('docs/start/first-call.md: test/processes/first-call.test.ts does.'),
    ])
  })
})
