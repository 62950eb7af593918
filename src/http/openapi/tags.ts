// Operations are sorted by the first word of their path behind the account. Areas describe their words.

/** Words that are about what another one names. */
const partOf: Readonly<Record<string, string>> = {
  children: 'accounts',
  descendants: 'accounts',
  move: 'accounts',
  parents: 'accounts',
  reseller: 'accounts',
  siblings: 'accounts',
  tree: 'accounts',
  api_key: 'api_keys',
}

const afterAccount = /^\/v2\/accounts\/\{account_id\}\/([^/{]+)/

/** The word that says what a path is about. */
export const wordOf = (path: string) => afterAccount.exec(path)?.[1] ?? path.split('/')[2] ?? ''

export const tagOf = (path: string) => {
  const word = wordOf(path)
  return partOf[word] ?? word
}
