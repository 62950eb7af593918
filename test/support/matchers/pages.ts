import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The testable parts of README and the pages in docs/.

export const root = join(import.meta.dirname, '../../..')

/** Paths of all pages, the README first. */
export const pagePaths = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()]

export const pageText = (path: string) => readFileSync(join(root, path), 'utf8')

export interface Block {
  language: string
  text: string
  /** The line on which it begins. */
  line: number
  /** Why its commands need more than this repository; undefined: the tests run them. */
  notRun: string | undefined
}

/** The fenced blocks of a page. */
export const blocksOf = (path: string): Block[] => {
  const text = pageText(path)
  return [...text.matchAll(/(?:^<!-- not run: (.*) -->\n)?^```([^\n]*)\n([\s\S]*?)^```/gm)].map((found) => ({
    notRun: found[1],
    language: found[2] ?? '',
    text: found[3] ?? '',
    line: text.slice(0, found.index).split('\n').length + 1,
  }))
}

const commandLanguages = new Set(['sh', 'sql'])

/** The blocks that hold commands. */
export const commandsOf = (path: string) =>
  blocksOf(path).filter(({ language }) => commandLanguages.has(language))

/** Where the page says that an answer is a refusal: `# 402: the invoices`. */
export const refusalsToldIn = (text: string) =>
  [...text.matchAll(/# ([45]\d\d)\b/g)].map(([, status]) => Number(status))

const sessionCommands = `PASSWORD='the password that was shown'\n. examples/session.sh\n`

/** The setup of the first steps, for pages that continue them. */
export const setupOf = (blocks: readonly Block[]) => {
  const text = blocks.map((block) => block.text).join('\n')
  return /\$API\b|^call /m.test(text) && !text.includes('. examples/session.sh') ? sessionCommands : ''
}
