import type { Upgrade } from '../upgrades.ts'

/** Who works on what, and when what has to be done now and then was done last. */
export const jobs: Upgrade = {
  number: 4,
  title: 'leases and rounds',
  // Neither grows with the accounts: a lease is a row while it is held, a round is one for each job of the server.
  statements: ({ key, compact }) => [
    `CREATE TABLE leases (
      name ${key} NOT NULL PRIMARY KEY,
      token ${key} NOT NULL,
      holder TEXT NOT NULL,
      expires_at BIGINT NOT NULL
    ) ${compact}`,
    `CREATE TABLE rounds (
      name ${key} NOT NULL PRIMARY KEY,
      done_at BIGINT NOT NULL
    ) ${compact}`,
  ],
}
