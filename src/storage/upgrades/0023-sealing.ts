import type { Upgrade } from '../upgrades.ts'

/** How far older documents have been looked through for secrets in clear: see ../seal-older.ts. No row: all have been. */
export const sealing: Upgrade = {
  number: 23,
  title: 'secrets within documents are sealed',
  statements: ({ key }) => [
    `CREATE TABLE sealing_walk (
      account_id ${key} NOT NULL,
      kind ${key} NOT NULL,
      id ${key} NOT NULL,
      PRIMARY KEY (account_id, kind, id)
    )`,
    "INSERT INTO sealing_walk (account_id, kind, id) VALUES ('', '', '')",
  ],
}
