import MiniSearch, { type SearchResult } from 'minisearch'
import { searchOptions } from './search-options.ts'

/** Guides answer questions, and their first sections first: other pages have the same words more often. */
const weightOf = (id: string) => {
  if (/^(guides|start)\/[^#]*$/.test(id)) return 6
  if (/^(guides|start)\//.test(id)) return 3
  return /^(reference\/operations|decisions|changelog|readme)/.test(id) ? 0.3 : 0.5
}

const findOptions = {
  prefix: true,
  // Typing errors in longer words.
  fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
  boost: { title: 4, page: 2 },
  boostDocument: weightOf,
}

export const readIndex = (text: string) => MiniSearch.loadJSON(text, searchOptions)

/** Sections with all of the words; if there are none, sections with some of them. */
export const findSections = (index: MiniSearch, words: string): SearchResult[] => {
  const all = index.search(words, { ...findOptions, combineWith: 'AND' })
  return all.length > 0 ? all : index.search(words, { ...findOptions, combineWith: 'OR' })
}
