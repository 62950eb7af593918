import MiniSearch from 'minisearch'
import { searchOptions } from '../web/search-options.ts'
import type { Section } from './markdown.ts'
import type { Operations } from './operations.ts'

interface IndexedPage {
  path: string
  title: string
  sections: readonly Section[]
}

// What a result shows of a section.
const excerptLength = 160

const entriesOfPage = ({ path, title, sections }: IndexedPage) =>
  sections.map(({ heading, text }) => ({
    id: heading.level === 1 ? path : `${path}#${heading.id}`,
    title: heading.text,
    page: heading.level === 1 ? '' : title,
    text,
    excerpt: text.replaceAll(/\s+/g, ' ').slice(0, excerptLength),
  }))

const entriesOfOperations = ({ groups }: Operations) =>
  groups.flatMap(({ name, page, operations }) =>
    operations.map(({ id, method, path, summary, description }) => ({
      id: `${page}#${id}`,
      title: summary.replaceAll('`', ''),
      page: `API: ${name}`,
      text: `${id} ${method} ${path} ${description}`,
      excerpt: `${method} ${path}`,
    })),
  )

/** The search index as text, which the browser loads with the first search. */
export const searchIndexText = (pages: readonly IndexedPage[], operations: Operations) => {
  const index = new MiniSearch(searchOptions)
  index.addAll([...pages.flatMap(entriesOfPage), ...entriesOfOperations(operations)])
  return JSON.stringify(index)
}
