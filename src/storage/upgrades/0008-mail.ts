import type { Upgrade } from '../upgrades.ts'

/** Letters that wait to be sent, what came of each attempt, and requests for a way back in. */
export const mail: Upgrade = {
  number: 8,
  title: 'mail queue, delivery attempts and recovery requests',
  statements: ({ key, compact }) => [
    `CREATE TABLE letters (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      notice ${key} NOT NULL,
      recipient TEXT NOT NULL,
      message_id TEXT NOT NULL,
      sealed TEXT NOT NULL,
      created BIGINT NOT NULL,
      due_at BIGINT NOT NULL,
      good_until BIGINT NOT NULL,
      tries INTEGER NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    // The one worker that delivers looks across the accounts; only what waits stands here, so it stays short.
    'CREATE INDEX letters_due ON letters (due_at, account_id, id)',
    `CREATE TABLE mail_attempts (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      letter_id ${key} NOT NULL,
      message_id TEXT NOT NULL,
      notice ${key} NOT NULL,
      recipient TEXT NOT NULL,
      sender TEXT NOT NULL,
      subject TEXT NOT NULL,
      number INTEGER NOT NULL,
      outcome ${key} NOT NULL,
      reply TEXT NOT NULL,
      signed_by TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
    // What is too old is looked for across the accounts, once an hour.
    'CREATE INDEX mail_attempts_age ON mail_attempts (at)',
    // A request belongs to no account before somebody looked, and stands here for a moment only.
    `CREATE TABLE recovery_requests (
      id ${key} NOT NULL PRIMARY KEY,
      request TEXT NOT NULL,
      author TEXT NOT NULL,
      tries INTEGER NOT NULL
    )`,
    // Admins are found by an index: users have no owner, so the column says who is one.
    `UPDATE records SET owner_id = 'admin' WHERE kind = 'user' AND doc LIKE '%"priv_level":"admin"%'`,
  ],
}
