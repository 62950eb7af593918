import type { Dialect, Upgrade } from '../upgrades.ts'

interface Moved {
  kind: string
  from: string
  /** SQL expressions. Times in Unix milliseconds. */
  id: string
  accountId: string
  dueAt: string
  since?: string
  attempts: string
  payload: string
}

const move = ({ kind, from, id, accountId, dueAt, since = dueAt, attempts, payload }: Moved) =>
  `INSERT INTO work
    (kind, id, account_id, subject, sequence, state, due_at, since, attempts, marks, payload, outcome, finished_at)
  SELECT '${kind}', ${id}, ${accountId}, '', 0, 'waiting', ${dueAt}, ${since}, ${attempts}, 1, ${payload}, '', 0
    FROM ${from}`

const provisionings = ({ json }: Dialect) => [
  move({
    kind: 'provisioning',
    from: 'provisionings',
    id: 'device_id',
    accountId: 'account_id',
    dueAt: 'due_at',
    attempts: 'failures',
    payload: json({ mac: 'mac_address' }),
  }),
  'DROP TABLE provisionings',
]

// The ids of requests begin with the time at which they were made; they are due at once.
const recoveryRequests = () => [
  move({
    kind: 'password_recovery',
    from: 'recovery_requests',
    id: 'id',
    accountId: "'system'",
    dueAt: '0',
    attempts: 'tries',
    payload: `'{"request":' || request || ',"author":' || author || '}'`,
  }),
  'DROP TABLE recovery_requests',
]

const letters = ({ json }: Dialect) => [
  move({
    kind: 'mail',
    from: 'letters',
    id: 'id',
    accountId: 'account_id',
    dueAt: 'due_at',
    since: 'created',
    attempts: 'tries',
    payload: json({
      notice: 'notice',
      recipient: 'recipient',
      messageId: 'message_id',
      sealed: 'sealed',
      created: 'created',
      goodUntil: 'good_until',
    }),
  }),
  'DROP TABLE letters',
]

const serviceSyncs = ({ json }: Dialect) => [
  move({
    kind: 'synchronization',
    from: 'service_syncs',
    id: "account_id || '/' || bookkeeper",
    accountId: 'account_id',
    dueAt: 'due_at',
    since: 'since',
    attempts: 'attempts',
    payload: json({ bookkeeper: 'bookkeeper' }),
  }),
  'DROP TABLE service_syncs',
]

// What stays is when somebody was told, and when an account was topped up.
const balanceWatch = [
  move({
    kind: 'low_balance',
    from: 'balance_watch',
    id: 'account_id',
    accountId: 'account_id',
    dueAt: 'due_at',
    attempts: '0',
    payload: "'{}'",
  }),
  'DELETE FROM balance_watch WHERE mailed_at = 0',
  'DROP INDEX balance_watch_due',
  'ALTER TABLE balance_watch DROP COLUMN due_at',
  'ALTER TABLE balance_watch DROP COLUMN marks',
]

const topups = [
  move({
    kind: 'topup',
    from: 'topups WHERE due_at > 0',
    id: 'account_id',
    accountId: 'account_id',
    dueAt: 'due_at',
    attempts: '0',
    payload: "'{}'",
  }),
  'DELETE FROM topups WHERE last_at = 0',
  'DROP INDEX topups_due',
  'ALTER TABLE topups DROP COLUMN due_at',
  'ALTER TABLE topups DROP COLUMN marks',
]

const openTransactions = [
  move({
    kind: 'transactions',
    from: "transactions WHERE status IN ('pending', 'unknown')",
    id: 'id',
    accountId: 'account_id',
    dueAt: 'due_at',
    // From Gregorian seconds.
    since: '(created - 62167219200) * 1000',
    attempts: 'attempts',
    payload: "'{}'",
  }),
  'DROP INDEX transactions_open',
  'ALTER TABLE transactions DROP COLUMN due_at',
  'ALTER TABLE transactions DROP COLUMN attempts',
]

/** What waited in tables of its own waits in the one work queue. */
export const workMoved: Upgrade = {
  number: 18,
  title: 'mails, payments and what else waits are moved into the work queue',
  statements: (dialect) => [
    ...provisionings(dialect),
    ...recoveryRequests(),
    ...letters(dialect),
    ...serviceSyncs(dialect),
    ...balanceWatch,
    ...topups,
    ...openTransactions,
  ],
}
