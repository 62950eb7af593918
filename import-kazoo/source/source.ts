import type { Json } from '../../src/lib/json.ts'

// What documents are read from: a CouchDB over HTTP, or a folder of dumps. Reading never changes anything there.

/** A document as it stands in the source. */
export interface SourceDocument {
  id: string
  /** Some dumps know no revisions. */
  rev: string | undefined
  /**
   * Its JSON as it came: of numbers it tells whole ones from those with a fraction, which parsing forgets. What only
   * answers to this question have is taken out (`_conflicts`), and files that come along stand as stubs: every source
   * gives the same text.
   */
  text: string
  /** `text`, parsed, where that was done already. */
  fields?: Json
  /** Revisions that lost against this one, where the source tells. */
  conflicts: readonly string[]
}

/** Some documents of a database, each once, and where reading continues behind them. */
export interface SourcePage {
  documents: readonly SourceDocument[]
  /** Ids of documents that are deleted, where a source names them: changes do. */
  gone: readonly string[]
  /** Documents that the source names and does not give, by id, with the reason. */
  unreadable: readonly { id: string; reason: string }[]
  /** Opaque; good for this database of this source. Of changes: where the next look begins. */
  mark: string
}

export interface DatabaseFacts {
  /** Design documents are among them. Undefined where counting would mean reading all. */
  documents: number | undefined
  bytes: number | undefined
  /** Where changes begin that come after now; undefined where a source cannot be followed. */
  sequence: string | undefined
}

export interface AttachmentName {
  database: string
  id: string
  name: string
}

export interface SourceFacts {
  kind: 'couchdb' | 'dump'
  /** In words for a person, without credentials: `CouchDB 3.3.3 at db.example:5984`. */
  title: string
  engine: 'bigcouch' | 'couchdb1' | 'couchdb' | undefined
  canFollow: boolean
}

/** What keeps a source from being read, in words for whoever named it; never with a credential in it. */
export class SourceTrouble extends Error {}

/** The database was there and is not any more: an account that was deleted meanwhile. */
export class DatabaseVanished extends SourceTrouble {}

/** False where a database vanishes while it is read. */
export const unlessVanished = async (work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof DatabaseVanished)) throw error
    return false
  }
}

export interface Source {
  readonly facts: SourceFacts
  /** The names of all databases, decoded, each once, in the order of their code units. */
  databases(): Promise<string[]>
  /** Undefined when there is no such database. */
  database(name: string): Promise<DatabaseFacts | undefined>
  /** All documents that are not deleted, design documents left out; from the beginning, or from behind a mark. */
  pages(database: string, after?: string): AsyncIterable<SourcePage>
  /** What changed in a database; ends when there is nothing more for now. */
  changes(database: string, since: string): AsyncIterable<SourcePage>
  /** One document, or undefined. */
  document(database: string, id: string): Promise<SourceDocument | undefined>
  /** The bytes of an attachment, checked against its length and digest where these are known; undefined: not there. */
  attachment(name: AttachmentName, mostBytes: number): Promise<Buffer | 'too large' | undefined>
  close(): Promise<void>
}
