export type ObjectStorePlace = { kind: 'directory'; path: string } | S3Place

export interface S3Place {
  kind: 's3'
  bucket: string
  /** Prefix of every key: empty, or ending with a slash. */
  prefix: string
  /** `https://host:port`; the bucket is the first part of the path. */
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | undefined
}

/** Files by key, written as a whole and read in parts. */
export interface ObjectStore {
  /** For messages: no secret. */
  readonly name: string
  /** Resolves when the object is durable. It replaces an older one. */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** The bytes from `from` to before `to`: all of them, or it fails. */
  read(key: string, from: number, to: number): Promise<Uint8Array>
  /** In bytes; undefined if it does not exist. */
  size(key: string): Promise<number | undefined>
  /** Does nothing if it does not exist. */
  remove(key: string): Promise<void>
}

/** Its message contains the URL of the store and no secret. */
export class ObjectStoreError extends Error {
  constructor(name: string, what: string, reason?: unknown) {
    super(`${name}: ${what}`, reason === undefined ? undefined : { cause: reason })
    this.name = 'ObjectStoreError'
  }
}
