import type { Upgrade } from '../upgrades.ts'

/** Documents of a Kazoo that nothing here reads, as they came, with some of their files. */
export const kazooKept: Upgrade = {
  number: 36,
  title: 'documents of Kazoo that are kept as they are',
  statements: ({ key }) => [
    // `source`: the database that it stood in. `name`: empty for the document itself, else that of one of its files.
    `CREATE TABLE kazoo_kept (
      account_id ${key} NOT NULL,
      source ${key} NOT NULL,
      id ${key} NOT NULL,
      name ${key} NOT NULL,
      type ${key} NOT NULL,
      revision ${key} NOT NULL,
      bytes BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, source, id, name)
    )`,
  ],
}
