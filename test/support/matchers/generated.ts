import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

/** Whether a generated file is committed as it is made now. `npm run generate` writes it. */
export const isCommitted = (path: string, text: string) => {
  const file = join(root, path)
  if (process.env.UPDATE_EXPECTED) writeFileSync(file, text)
  return readFileSync(file, 'utf8') === text
}
