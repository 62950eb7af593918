/** An error of several hosts has no message, only a code. */
export const messageOf = (error: unknown) =>
  error instanceof Error ? error.message || String(codeOf(error) ?? error.name) : String(error)

/** A parser quotes the text, which may contain a secret. */
export const messageOfReading = (error: unknown) =>
  error instanceof SyntaxError ? 'it is not JSON' : messageOf(error)

/** Such as ENOENT or 42P01. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** Errors of SQLite and of reading a directory do not name the path. */
export const namingPath = (path: string, error: unknown): unknown => {
  if (error instanceof Error && !error.message.includes(path)) error.message = `${path}: ${error.message}`
  return error
}
