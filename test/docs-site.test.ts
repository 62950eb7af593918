// Checks of the documentation site that need no browser.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findSections, readIndex } from '../console/docs/web/find.ts'
import { isObject } from '../src/lib/json.ts'
import { useBuiltDocs } from './support/examples/built-docs.ts'
import { pagePaths, root } from './support/matchers/pages.ts'

const methods = ['get', 'put', 'post', 'patch', 'delete']

const operationIds = (path: string) => {
  const { paths } = JSON.parse(readFileSync(path, 'utf8'))
  return Object.values(paths).flatMap((item) =>
    Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) =>
      methods.includes(method) && isObject(operation) ? [operation.operationId] : [],
    ),
  )
}

const referencesIn = (text: string) =>
  new Set(
    [...text.matchAll(/"\$ref":"#\/components\/([^"/]+)\/([^"/]+)"/g)].map(
      ([, kind, name]) => `${kind} ${name}`,
    ),
  )

const program = join(root, 'scripts', 'build-docs.mjs')

/** Search words of new users, and the expected guide. */
const searches = {
  'add a phone': 'accounts-and-users',
  'phone does not register': 'phone-does-not-register',
  'forgot password': 'account-recovery',
  'cannot sign in': 'sign-in',
  '2fa': 'sign-in',
  '402': 'plans-and-charges',
  '403': 'errors',
  '429': 'errors',
  'port 8443': 'deploying',
  https: 'deploying',
  systemd: 'deploying',
  'csv import fails': 'bulk-tasks',
  excel: 'numbers',
  'buy a number': 'numbers',
  'sip trunk': 'carriers',
  'call forwarding': 'routing',
  'caller id': 'routing',
  'service plan': 'plans-and-charges',
  'disputed charge': 'disputed-charge',
  'top up': 'payments-and-invoices',
  invoice: 'payments-and-invoices',
  logo: 'branding',
  certificate: 'branding',
  dkim: 'email',
  'mail does not arrive': 'email',
  'block ip': 'access-lists-and-packet-limits',
  'rate limit': 'access-lists-and-packet-limits',
  'api key': 'api-keys',
  webhook: 'webhooks',
  timestamp: 'times-and-paging',
  backup: 'backup',
  restore: 'backup',
  postgresql: 'move-to-postgresql',
  'second server': 'scaling',
  prometheus: 'monitoring',
  freeswitch: 'freeswitch',
  kazoo: 'migrate-from-kazoo',
  'delete account': 'accounts-and-users',
}

describe('the site of the documentation', () => {
  const folder = useBuiltDocs()
  const textOf = (path: string) => readFileSync(join(folder, path), 'utf8')
  const htmlFiles = () => globSync('**/*.html', { cwd: folder })
  const idsIn = (path: string) => new Set([...textOf(path).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))

  it.each(Object.entries(searches))(
    'finds the answer to "%s" among its first three results',
    (words, guide) => {
      const [path = ''] = globSync('assets/search-*.json', { cwd: folder })
      const found = findSections(readIndex(textOf(path)), words).slice(0, 3)
      expect(found.map(({ id }) => String(id).replace(/#.*/, ''))).toContain(`guides/${guide}.html`)
    },
  )

  it('finds sections with some of the words if none has all of them', () => {
    const [path = ''] = globSync('assets/search-*.json', { cwd: folder })
    const [first] = findSections(readIndex(textOf(path)), 'kubernetes spaghetti')
    expect(first?.id).toMatch(/^guides\/deploying.html/)
  })

  it('has a page for each page of the repository', () => {
    const missing = pagePaths
      .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md')
      .filter((path) => !existsSync(join(folder, posix.relative('docs', path).replace(/\.md$/, '.html'))))
    expect(missing).toEqual([])
  })

  it('leads nowhere that is not there', () => {
    const ids = new Map(htmlFiles().map((path) => [path, idsIn(path)]))
    const leadsNowhere = (from: string, link: string) => {
      const [path = '', anchor] = link.replaceAll('&amp;', '&').split('#')
      const named = posix.join(dirname(from), path === '' ? posix.basename(from) : path)
      const target =
        named === '.' || named === './' || named.endsWith('/') ? posix.join(named, 'index.html') : named
      if (!existsSync(join(folder, target))) return true
      return anchor !== undefined && !ids.get(target)?.has(decodeURIComponent(anchor))
    }
    const dead = htmlFiles().flatMap((path) =>
      [...textOf(path).matchAll(/(?:href|src|data-document|data-index)="([^"]*)"/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link) && leadsNowhere(path, link))
        .map((link) => `${path}: ${link}`),
    )
    expect(dead).toEqual([])
  })

  it('has nothing of another host, no script and no style in its pages', () => {
    const found = htmlFiles().filter((path) =>
      /<script>|<style|\sstyle="|\son\w+="|(?:src|stylesheet" href)="(?:https?:)?\/\//.test(textOf(path)),
    )
    expect(found).toEqual([])
  })

  it('has every operation in one of its groups, with all that it refers to', () => {
    const documents = globSync('api/*.json', { cwd: folder })
    const there = documents.flatMap((path) => operationIds(join(folder, path)))
    expect(there.sort()).toEqual(operationIds(join(root, 'openapi.json')).sort())
    const missing = documents.flatMap((path) => {
      const { components } = JSON.parse(textOf(path))
      return [...referencesIn(textOf(path))].filter((reference) => {
        const [kind = '', name = ''] = reference.split(' ')
        return components[kind]?.[name] === undefined
      })
    })
    expect(missing).toEqual([])
  })

  it('is not written over what is in a folder', () => {
    const before = globSync('**', { cwd: folder })
    const onto = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' })
    expect([onto.status, onto.stderr]).toEqual([1, `${folder} is not empty\n`])
    expect(globSync('**', { cwd: folder })).toEqual(before)
    expect(spawnSync(process.execPath, [program]).status).toBe(2)
  })
})
