import type { Json } from '../../src/lib/json.ts'
import { Refusal } from '../../src/storage/saved-store.ts'

// Sources are only read.

export interface SourceDocument {
  id: string
  /** Some dumps have no revisions. */
  rev: string | undefined
  /**
   * The original JSON: it distinguishes `5` from `5.0`. Response members such as `_conflicts` are removed
   * and inline files replaced by stubs, so that each source gives the same text.
   */
  text: string
  fields?: Json
  /** Revisions that lost a conflict, if the source names them. */
  conflicts: readonly string[]
}

/** Documents of a database, each once. */
export interface SourcePage {
  documents: readonly SourceDocument[]
  /** Ids of deleted documents; only changes name them. */
  gone: readonly string[]
  /** Documents that the source names but cannot give. */
  unreadable: readonly { id: string; reason: string }[]
  /** Opaque: continues after this page. */
  mark: string
}

export interface DatabaseFacts {
  documents: number | undefined
  bytes: number | undefined
  /** Changes after now; undefined if the source cannot be followed. */
  sequence: string | undefined
}

export interface AttachmentName {
  database: string
  id: string
  name: string
}

export interface SourceFacts {
  /** Without credentials: `CouchDB 3.3.3 at db.example:5984`. */
  title: string
  canFollow: boolean
}

/** The message names no credential. */
export class SourceTrouble extends Refusal {}

/** The database was deleted during the read. */
export class DatabaseVanished extends SourceTrouble {}

/** False if a database vanished. */
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
  /** Decoded, unique, sorted. */
  databases(): Promise<string[]>
  database(name: string): Promise<DatabaseFacts | undefined>
  /** Without deleted and design documents. */
  pages(database: string, after?: string): AsyncIterable<SourcePage>
  /** Ends when there are no more changes for now. */
  changes(database: string, since: string): AsyncIterable<SourcePage>
  document(database: string, id: string): Promise<SourceDocument | undefined>
  /** Checked against length and digest if known; undefined if missing. */
  attachment(name: AttachmentName, mostBytes: number): Promise<Buffer | 'too large' | undefined>
  close(): Promise<void>
}
