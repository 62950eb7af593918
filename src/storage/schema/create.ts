import type { Dialect } from '../sql-words.ts'

export type SchemaWords = ReturnType<typeof schemaWords>

const wordsIn = (columns: string) => columns.split(/\s+/).filter(Boolean)

/** The statements of a schema in one dialect. */
export const schemaWords = (dialect: Dialect) => {
  const types: Readonly<Record<string, string>> = {
    key: dialect.key,
    text: 'TEXT',
    integer: 'INTEGER',
    bigint: 'BIGINT',
    bytes: dialect.bytes,
    serial: 'BIGSERIAL',
  }

  const columnOf = (word: string) => {
    const [, name, type = 'key', optional, value] = /^(\w+)(?::(\w+))?(\?)?(?:=(.+))?$/.exec(word) ?? []
    if (name === undefined || !types[type]) throw new Error(`${word} is no column`)
    return `${name} ${types[type]}${optional ? '' : ' NOT NULL'}${value ? ` DEFAULT ${value}` : ''}`
  }

  return {
    ...dialect,

    /**
     * `primary` are the columns of the primary key. A column is a key (text ordered by bytes) unless its type follows,
     * `?` allows NULL, and a default value is last: `name_key=''`, `created:bigint`, `answer:text?`, `failed:bigint=0`.
     */
    create: (table: string, primary: string, others: string, ending = '') => {
      const keys = wordsIn(primary)
      const columns = [...keys, ...wordsIn(others)].map(columnOf)
      const names = keys.map((word) => word.split(/[:=]/, 1)[0])
      return `CREATE TABLE ${table} (${[...columns, `PRIMARY KEY (${names.join(', ')})`].join(', ')}) ${ending}`.trim()
    },
  }
}
