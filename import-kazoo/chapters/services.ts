import { convertServices } from '../conversions/services/rules.ts'
import { type Chapter, systemDatabase } from './chapter.ts'

/** What accounts are sold, by what their records of it say. */
export const servicesChapter: Chapter = {
  name: 'services',
  reads: 'pages',
  databases: (facts) => systemDatabase(facts, 'services'),
  convert: (documents, { facts: { accounts, plans } }) =>
    documents.map((document) => convertServices(document, { accounts, plans })),
}
