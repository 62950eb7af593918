// The files of the repository that become pages, and their paths in the site.
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const root = join(import.meta.dirname, '../../..')

export const sourceText = (source: string) => readFileSync(join(root, source), 'utf8')

const elsewhere: readonly (readonly [source: string, page: string])[] = [
  ['docs/README.md', 'index.html'],
  ['README.md', 'readme.html'],
  ['CHANGELOG.md', 'changelog.html'],
  ['SECURITY.md', 'security.html'],
  ['client/README.md', 'client.html'],
  ['test/specification/README.md', 'specification.html'],
]

export const decisionsFolder = 'docs/decisions'

/** From the path of a page's text in the repository to its path in the site. */
export type Sources = ReadonlyMap<string, string>

const sorted = (pattern: string) => globSync(pattern, { cwd: root }).sort()

export const findSources = (): Sources =>
  new Map([
    ...sorted('docs/**/*.md').map(
      (source) => [source, posix.relative('docs', source).replace(/\.md$/, '.html')] as const,
    ),
    ...elsewhere,
    [decisionsFolder, 'decisions/index.html'] as const,
    ...sorted('examples/*.{mjs,sh}').map((source) => [source, source.replace(/\.\w+$/, '.html')] as const),
  ])

/** The relative address of one page as seen from another: the site may have any base path. */
export const relativeUrl = (from: string, to: string) => {
  const path = posix.relative(posix.dirname(from), to.replace(/(^|\/)index\.html$/, '$1'))
  return to.endsWith('index.html') ? `${path || '.'}/` : path
}
