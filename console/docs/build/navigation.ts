import { posix } from 'node:path'
import type { Operations } from './operations.ts'
import { decisionsFolder, type Sources, sourceText } from './sources.ts'

export interface NavigationLink {
  text: string
  page: string
}

export interface NavigationGroup {
  title: string
  links: readonly NavigationLink[]
  /** Long ones are open only while one of their pages is read. */
  isFolded: boolean
}

const index = 'docs/README.md'

const titleOf = (source: string) => /^# (.*)$/m.exec(sourceText(source))?.[1] ?? source

/** What the index of the guides lists, in its order. */
const groupsOfIndex = (sources: Sources): NavigationGroup[] =>
  sourceText(index)
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')),
      links: [...section.matchAll(/^(?:\*|\|) \[([^\]]+)\]\(([^)]+)\)/gm)].flatMap(
        ([, text = '', href = '']) => {
          const page = sources.get(posix.join(posix.dirname(index), href))
          return page === undefined ? [] : [{ text: text.replaceAll('`', ''), page }]
        },
      ),
      isFolded: false,
    }))
    .filter(({ links }) => links.length > 0)

const decisionLinks = (sources: Sources) =>
  [...sources]
    .filter(([source]) => source.startsWith(`${decisionsFolder}/`))
    .map(([source, page]) => ({ text: titleOf(source), page }))

/** The page of the folder, which in the repository is a list of files. */
export const decisionsText = (sources: Sources) => {
  const texts = [...sources.keys()].filter((source) => source.startsWith(`${decisionsFolder}/`))
  const lines = texts.map((source) => `* [${titleOf(source)}](${posix.relative(decisionsFolder, source)})`)
  return `# Decisions\n\nWhy things are as they are.\n\n${lines.join('\n')}\n`
}

export const navigationOf = (sources: Sources, { groups }: Operations): NavigationGroup[] => [
  ...groupsOfIndex(sources),
  {
    title: 'API',
    links: [
      { text: 'All operations', page: 'api/index.html' },
      ...groups.map(({ name, page }) => ({ text: name, page })),
    ],
    isFolded: true,
  },
  {
    title: 'Decisions',
    links: [{ text: 'All decisions', page: 'decisions/index.html' }, ...decisionLinks(sources)],
    isFolded: true,
  },
]
