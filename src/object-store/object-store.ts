/** Where objects lie. */
export interface ObjectStorePlace {
  kind: 'directory'
  path: string
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
