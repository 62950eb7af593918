import type { ListQuery } from '../../../../lib/question.ts'
import { isStorable } from '../../../../storage/records.ts'
import type { SqlWords } from '../../../../storage/sql-words.ts'
import { columns } from '../columns.ts'
import type { Mark } from '../reading/store.ts'

// Filters on fields that have a column of their own, as conditions of the query. Each means exactly what the same
// question means when it is asked of the document (http/answer/filters.ts): test/storage/cdr-reading.test.ts compares them.

/** A field as SQL sees it. `column` is undefined for what is never absent. */
interface Field {
  column: string | undefined
  /** The text that is compared; a missing value is the empty text. */
  text: string
  /** A number, for questions about time. */
  number?: string
  isText: boolean
}

const always = (text: string): Field => ({ column: undefined, text, isText: true })

const fieldsOf = (words: SqlWords) => {
  const fields = new Map<string, Field>([
    ['id', always('id')],
    ['call_id', always('substr(id, 8)')],
    ['interaction_id', always(words.joined(['interaction_time', "'-'", 'interaction_key']))],
    ['custom_channel_vars.account_id', always('account_id')],
    ['created', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
    ['modified', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
  ])
  for (const { path, sql, type } of columns) {
    if (type === 'json') continue
    const isText = type === 'text'
    const text = `COALESCE(${isText ? sql : words.asText(sql)}, '')`
    fields.set(path, { column: sql, text, isText, ...(isText ? {} : { number: sql }) })
  }
  return fields
}

const nothing = '1 = 0'
const everything = '1 = 1'

const oneOf = ({ column, text, isText }: Field, texts: Iterable<string>, mark: Mark) => {
  const wanted = [...texts].filter(isStorable)
  if (wanted.length === 0) return nothing
  // Where the empty text is not asked for, a missing value is not meant: the bare column may use an index.
  const compared = isText && column && !wanted.includes('') ? column : text
  return `${compared} IN (${wanted.map(mark).join(', ')})`
}

const isPresent = ({ column }: Field) => (column ? `${column} IS NOT NULL` : everything)
const isAbsent = ({ column }: Field) => (column ? `${column} IS NULL` : nothing)

// NOT of a comparison with NULL would be neither true nor false.
const not = (condition: string) => `NOT COALESCE(${condition}, ${nothing})`

const notEmpty = (field: Field) => (field.isText ? `${field.text} <> ''` : isPresent(field))

const inTime = ({ number }: Field, sign: '>=' | '<=', bound: number, mark: Mark) =>
  number && !Number.isNaN(bound)
    ? `${number} ${sign} ${mark(Math.min(bound, Number.MAX_SAFE_INTEGER))}`
    : nothing

const conditionOf = (field: Field | undefined, test: ListQuery['test'], mark: Mark): string => {
  if (!field) throw new Error('a question about no column')
  switch (test.is) {
    case 'oneOf':
      return oneOf(field, test.texts, mark)
    // A column holds no list: whatever it holds has a text.
    case 'notOneOf':
    case 'noneOf':
      return not(oneOf(field, test.texts, mark))
    // Only a missing value counts as a list, the empty one.
    case 'arrayOfAll':
      return test.texts.length === 0 ? isAbsent(field) : nothing
    case 'arrayOfAny':
      return nothing
    case 'arrayOfNone':
      return isAbsent(field)
    case 'present':
      return isPresent(field)
    case 'absent':
      return isAbsent(field)
    case 'filled':
      return notEmpty(field)
    case 'unfilled':
      return not(notEmpty(field))
    case 'notBefore':
      return inTime(field, '>=', test.bound, mark)
    case 'notAfter':
      return inTime(field, '<=', test.bound, mark)
    case 'impossible':
      return nothing
  }
}

/** What a question is as a condition, or undefined when it has to be asked of the document. */
export const createConditions = (words: SqlWords) => {
  const fields = fieldsOf(words)
  return {
    isCondition: ({ key }: ListQuery) => fields.has(key),
    conditionOf: ({ key, test }: ListQuery, mark: Mark) => conditionOf(fields.get(key), test, mark),
  }
}
