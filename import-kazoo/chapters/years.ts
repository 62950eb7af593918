// What moved of what accounts have, by the day: databases of years, which only newer systems have.
import { createDays } from '../conversions/audits/rules.ts'
import { converted } from '../conversions/findings.ts'
import { keepOrList } from '../conversions/kept/rules.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone } from '../documents/fields.ts'
import { type Chapter, type Facts, kindOf } from './chapter.ts'

const firstYearOf = ({ sinceMonth = 0 }: Pick<Facts, 'sinceMonth'>) => Math.floor(sinceMonth / 100)

/** Of what moved documents have no type. */
const isOfDay = ({ type, fields }: KazooDocument) => type === '' && !isGone(fields)

/** How a year's days are remembered together: several documents may tell of one. */
const daysDocument = (database: string): KazooDocument => ({
  database,
  id: '(days)',
  rev: undefined,
  text: '',
  conflicts: [],
  fields: {},
  type: 'service_day',
})

export const yearsChapter: Chapter = {
  name: 'years',
  reads: 'whole',
  databases: (facts) =>
    [...facts.kinds].flatMap(([name, kind]) =>
      kind.kind === 'year' && Number(kind.year) >= firstYearOf(facts) && facts.accounts.has(kind.accountId)
        ? [name]
        : [],
    ),
  convert(documents, place): Converted[] {
    const kind = kindOf(place)
    const accountId = kind.kind === 'year' ? kind.accountId : ''
    const days = createDays()
    const told = documents.map((document) => {
      if (!isOfDay(document)) return keepOrList(document, accountId)
      days.add(document)
      return converted(document, 'imported')
    })
    const drafts = days.drafts(accountId)
    return drafts.length === 0
      ? told
      : [...told, converted(daysDocument(place.database), 'imported', { drafts })]
  },
}
