import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { buildAssets } from './assets.ts'
import { type Page, pageHtml } from './layout.ts'
import { renderPage, type Section } from './markdown.ts'
import { decisionsText, navigationOf } from './navigation.ts'
import { readOperations } from './operations.ts'
import { documentPath, referencePages } from './reference.ts'
import { searchIndexText } from './search-index.ts'
import { decisionsFolder, findSources, relativeUrl, root, type Sources, sourceText } from './sources.ts'

export interface DocsOptions {
  /** Files of the same names are written over. */
  outDir: string
  /**
   * `server`: the site is at `/docs` of a server and uses the console's session. `alone`: the site is elsewhere
   * and asks for the server's address.
   */
  place?: 'server' | 'alone'
}

const languages: Readonly<Record<string, string>> = { '.mjs': 'js', '.sh': 'sh' }

/** The text of a page, and the file that its links start from. */
const textOf = (source: string, sources: Sources) => {
  if (source === decisionsFolder) return { text: decisionsText(sources), from: `${source}/README.md` }
  const language = languages[extname(source)]
  const text = sourceText(source)
  return {
    text: language === undefined ? text : `# ${source}\n\n\`\`\`\`${language}\n${text}\`\`\`\`\n`,
    from: source,
  }
}

const start = 'index.html'

/** In the repository it is a list of files; here the operations are pages as well. */
const withReference = (html: string) =>
  html.replace(
    '</h1>',
    `</h1>\n<p class="lead"><a href="${relativeUrl(start, 'api/index.html')}">All operations of the API</a></p>`,
  )

const picturesFolder = 'docs/pictures'

const readGuides = (sources: Sources, openApiPath: string) =>
  [...sources].map(([source, path]): Page & { sections: readonly Section[] } => {
    const { text, from } = textOf(source, sources)
    const rendered = renderPage(text, { source: from, page: path }, { sources, openApiPath })
    return { path, ...rendered, html: path === start ? withReference(rendered.html) : rendered.html }
  })

export const buildDocs = async ({ outDir, place = 'server' }: DocsOptions) => {
  const isAlone = place === 'alone'
  const openApiPath = isAlone ? 'openapi.json' : '../openapi.json'
  const consolePath = isAlone ? undefined : '../index.html'
  const sources = findSources()
  const operations = readOperations()
  const guides = readGuides(sources, openApiPath)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(outDir, path)), { recursive: true })
    writeFileSync(join(outDir, path), text)
  }

  const assets = await buildAssets(outDir)
  const index = searchIndexText(guides, operations)
  const searchIndex = `assets/search-${createHash('sha256').update(index).digest('hex').slice(0, 8)}.json`
  write(searchIndex, index)
  const around = { navigation: navigationOf(sources, operations), assets, searchIndex, consolePath }
  for (const page of [...guides, ...referencePages(operations, openApiPath, consolePath)])
    write(page.path, pageHtml(page, around))
  for (const group of operations.groups) write(documentPath(group), JSON.stringify(group.document))
  cpSync(join(root, picturesFolder), join(outDir, 'pictures'), { recursive: true })
  if (isAlone) cpSync(join(root, 'openapi.json'), join(outDir, openApiPath))
}
