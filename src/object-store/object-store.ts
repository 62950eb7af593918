/** Where objects lie. */
export type ObjectStorePlace = { kind: 'directory'; path: string } | S3Place

/** A bucket of a store that speaks S3. */
export interface S3Place {
  kind: 's3'
  bucket: string
  /** Stands before every key: empty, or with a slash at its end. */
  prefix: string
  /** `https://host:port`; the bucket is the first part of the path. */
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | undefined
}

/** Files by key, outside the store: written once as a whole, read in parts. */
export interface ObjectStore {
  /** What messages call it: no secret. */
  readonly name: string
  /** Resolves when the object is durable. What had the key before is replaced. */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** The bytes from one position up to another one, which is not included: all of them, or it fails. */
  read(key: string, from: number, to: number): Promise<Uint8Array>
  /** How many bytes the object has; undefined when it is not there. */
  size(key: string): Promise<number | undefined>
  /** Nothing happens when it is not there. */
  remove(key: string): Promise<void>
}

/** Why objects cannot be read or written now. Its message names the place, and nothing secret. */
export class ObjectStoreError extends Error {
  constructor(name: string, what: string, reason?: unknown) {
    super(`${name}: ${what}`, reason === undefined ? undefined : { cause: reason })
    this.name = 'ObjectStoreError'
  }
}
