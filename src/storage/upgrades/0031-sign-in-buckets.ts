import type { Upgrade } from '../upgrades.ts'

/** What sign-ins and wrong passwords have used up, counted by all processes together. */
export const signInBuckets: Upgrade = {
  number: 31,
  title: 'buckets of sign-ins that processes share',
  statements: ({ key, compact }) => [
    // Times in Unix milliseconds: when it is full again, and when it counts as full because nobody used it.
    `CREATE TABLE sign_in_buckets (
      bucket ${key} NOT NULL PRIMARY KEY,
      full_at BIGINT NOT NULL,
      void_at BIGINT NOT NULL
    ) ${compact}`,
    'CREATE INDEX sign_in_buckets_void ON sign_in_buckets (void_at)',
  ],
}
