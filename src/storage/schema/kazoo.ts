import type { Dialect } from '../sql-words.ts'

/** Imports from Kazoo: import-kazoo/import-run. */
export const kazooSchema = ({ key, compact }: Dialect): string[] => [
  // `mark`: where reading continues in a database of which some pages are stored. `sequence`: where its
  // changes begin.
  `CREATE TABLE kazoo_databases (
      name ${key} NOT NULL PRIMARY KEY,
      chapter ${key} NOT NULL,
      mark TEXT,
      sequence TEXT,
      is_whole INTEGER NOT NULL,
      documents BIGINT NOT NULL,
      notes TEXT NOT NULL
    )`,
  // The result of each document, except those that come by the million. `mark` changes with the
  // document.
  `CREATE TABLE kazoo_documents (
      name ${key} NOT NULL,
      document_id ${key} NOT NULL,
      type ${key} NOT NULL,
      outcome ${key} NOT NULL,
      mark ${key} NOT NULL,
      records TEXT NOT NULL,
      PRIMARY KEY (name, document_id)
    ) ${compact}`,
  // What an operator is told. `number` distinguishes the findings of one document.
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
  // The rows of the store before the import, which an undo restores.
  `CREATE TABLE kazoo_before (
      name ${key} NOT NULL,
      number BIGINT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (name, number)
    )`,
  // Documents that nothing here reads, as they came, with some of their files. `source`: their database.
  // `name`: empty for the document, else the name of the file.
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
]
