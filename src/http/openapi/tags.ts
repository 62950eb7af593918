// What operations are sorted by in the document: the first word of their path behind the account.

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

const descriptions: Readonly<Record<string, string>> = {
  about: 'What this server is.',
  access_lists: 'Which addresses and user agents accounts and their devices let in.',
  accounts: 'Tenants, and the tree they form.',
  alerts: 'What people are to be told.',
  allotments: 'Which calls are included for an account.',
  api_auth: 'Signing in with an API key.',
  api_keys: 'Keys of programs: the one of an account, and named ones with limits.',
  apps_store: 'Apps of web clients: which there are, and who has them.',
  audit: 'What was changed, by whom, and from what to what.',
  auth: 'Tokens: renewing and inspecting them, ending sessions, the keys they are signed with.',
  callflows: 'What happens to calls, by the number that is called.',
  cdrs: 'Call detail records: how they come in, how they are read, what they add up to.',
  channels: 'Calls that go on.',
  configs: 'Settings of accounts, over those of their resellers and of the system.',
  connectivity: 'Trunks: the PBX servers of accounts, and the numbers whose calls they take.',
  devices: 'Phones, and what they sign in to the switch with.',
  edge: 'What the SIP edges of the network ask, and what they tell of calls and refusals.',
  events: 'What was committed, in order: read in pages, followed as a stream.',
  groups: 'Users, devices and groups that are rung together.',
  invoices: 'What accounts owe for a month, and what was given back of it.',
  ledgers: 'The money of accounts, entry by entry.',
  limits: 'How many calls accounts may have, and how far they may overdraw.',
  migrations: 'Things of accounts that are put right when somebody asks for it.',
  multi_factor: 'Second factors of users, and who provides them.',
  notifications: 'What is mailed, in which words, and how its delivery went.',
  phone_numbers: 'The inventory of telephone numbers: how they are found, bought, used and given back.',
  rate_limits: 'How many SIP packets a second accounts and their devices may send.',
  rates: 'What calls cost a minute.',
  registrations: 'Which devices are registered, and where.',
  resources: 'Carriers: who takes calls to numbers outside, and who brings them.',
  schemas: 'The published shapes of what clients write.',
  search: 'Records found by the beginnings of their names.',
  security: 'How accounts let people sign in, and who tried.',
  service_plans: 'What resellers sell by.',
  services: 'What accounts are sold, what they have of it, what that costs, and who is told of it.',
  system_configs: 'Settings of the whole system.',
  tasks: 'Bulk work: a CSV in, a CSV out.',
  token_auth: 'The token of the request.',
  token_restrictions: 'What tokens may be used for.',
  transactions: 'Money that moves at bookkeepers.',
  user_auth: 'Signing in with a password, and getting a new one.',
  users: 'The people of accounts.',
  webhooks: 'Who is told of events outside, and what came of it.',
  websockets: 'Events over WebSocket: what can be subscribed to, and who is connected.',
  whitelabel: 'The brands of resellers: what they look like, and in whose name they write.',
  work: 'What waits to be done after commits, and how it ended: for operators.',
}

const afterAccount = /^\/v2\/accounts\/\{account_id\}\/([^/{]+)/

/** The word that says what a path is about. */
export const wordOf = (path: string) => afterAccount.exec(path)?.[1] ?? path.split('/')[2] ?? ''

export const tagOf = (path: string) => {
  const word = wordOf(path)
  return partOf[word] ?? word
}

/** Every tag with what it is about. */
export const tags = Object.entries(descriptions).map(([name, description]) => ({ name, description }))
