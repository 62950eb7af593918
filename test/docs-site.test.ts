// What can be seen of the documentation's site without a browser.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
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

describe('the site of the documentation', () => {
  const folder = useBuiltDocs()
  const textOf = (path: string) => readFileSync(join(folder, path), 'utf8')
  const htmlFiles = () => globSync('**/*.html', { cwd: folder })
  const idsIn = (path: string) => new Set([...textOf(path).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))

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
