// Anything can be thrown: what is thrown says something about itself only if it is an error.

/** Never empty: an error of several hosts has no message, only a code. */
export const messageOf = (error: unknown) =>
  error instanceof Error ? error.message || String(codeOf(error) ?? error.name) : String(error)

/** The same for whoever reads what is stored: what a parser says quotes the text, and there may be a secret in it. */
export const messageOfReading = (error: unknown) =>
  error instanceof SyntaxError ? 'it is no JSON' : messageOf(error)

/** The code of a system's or a database's error: ENOENT, 42P01. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** The error, with a message that names the path that it is about: those of SQLite and of reading a directory do not. */
export const namingPath = (path: string, error: unknown): unknown => {
  if (error instanceof Error && !error.message.includes(path)) error.message = `${path}: ${error.message}`
  return error
}
