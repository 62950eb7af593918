import type { Upgrade } from '../upgrades.ts'

/** Who is connected to which process: told by all of them. */
export const websockets: Upgrade = {
  number: 30,
  title: 'open WebSockets of all processes',
  statements: ({ key, compact }) => [
    // A row is good as long as its process holds its lease. Times in Unix milliseconds.
    `CREATE TABLE websockets (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      lease ${key} NOT NULL,
      opened_at BIGINT NOT NULL,
      source TEXT NOT NULL,
      destination TEXT NOT NULL,
      said TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
    'CREATE INDEX websockets_of_process ON websockets (lease)',
  ],
}
