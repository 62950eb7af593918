/** A document of a Kazoo, as it is kept. */
export interface KeptPlace {
  /** Of what belongs to no account `system`. */
  accountId: string
  /** The database that it stood in, decoded. */
  database: string
  id: string
}

// No name of a database has it.
const between = '|'

/** One word for where a document stood, among all of its account. */
export const keptName = ({ database, id }: Pick<KeptPlace, 'database' | 'id'>) => `${database}${between}${id}`

export const keptPlace = (accountId: string, name: string): KeptPlace => {
  const end = name.indexOf(between)
  return { accountId, database: name.slice(0, end), id: name.slice(end + 1) }
}

/** What is known of a kept document beside its place. */
export interface KeptFacts {
  type: string
  /** Its JSON as it came. */
  text: string
}
