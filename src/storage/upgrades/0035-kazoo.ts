import type { Upgrade } from '../upgrades.ts'

/** How far an import from Kazoo is: import-kazoo/running. */
export const kazoo: Upgrade = {
  number: 35,
  title: 'imports from Kazoo',
  statements: ({ key, compact }) => [
    // `mark`: where reading goes on in a database of which some pages are stored. `sequence`: where its changes begin.
    `CREATE TABLE kazoo_databases (
      name ${key} NOT NULL PRIMARY KEY,
      chapter ${key} NOT NULL,
      mark TEXT,
      sequence TEXT,
      is_whole INTEGER NOT NULL,
      documents BIGINT NOT NULL,
      notes TEXT NOT NULL
    )`,
    // What became of each document, but of those that come by the million. `mark` tells whether that has changed.
    `CREATE TABLE kazoo_documents (
      name ${key} NOT NULL,
      document_id ${key} NOT NULL,
      type ${key} NOT NULL,
      outcome ${key} NOT NULL,
      mark ${key} NOT NULL,
      records TEXT NOT NULL,
      PRIMARY KEY (name, document_id)
    ) ${compact}`,
    // What an operator is told. `number` tells apart what is told of one document.
    `CREATE TABLE kazoo_findings (
      name ${key} NOT NULL,
      document_id ${key} NOT NULL,
      number INTEGER NOT NULL,
      severity ${key} NOT NULL,
      code ${key} NOT NULL,
      field TEXT,
      old TEXT,
      new TEXT,
      PRIMARY KEY (name, document_id, number)
    ) ${compact}`,
    'CREATE INDEX kazoo_findings_code ON kazoo_findings (severity, code, name, document_id, number)',
    // The rows of the store as it was before, which undoing puts back.
    `CREATE TABLE kazoo_before (
      name ${key} NOT NULL,
      number BIGINT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (name, number)
    )`,
  ],
}
