// Files of the data directory in a backup: keys, mail, certificates.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { codeOf } from '../lib/error-facts.ts'
import { isStaging } from './staging.ts'
import type { Member } from './tar.ts'

const folders = ['keys', 'outbox']
// TLS settings may name these.
const certificates = /\.(?:pem|crt|cer|key)$/

const isWanted = (name: string) =>
  folders.some((folder) => name.startsWith(`${folder}/`)) || certificates.test(name)

// Incomplete keys and mails have these names.
const isDraft = (name: string) => /^keys\/(?:.*\.key\.[0-9a-f]+|undeclared\.key)$|\.eml\.part$/.test(name)

const namesIn = (dataDir: string) =>
  readdirSync(dataDir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dataDir, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => isWanted(name) && !isDraft(name) && !isStaging(name))
    .sort()

/** One file in memory at a time. */
export async function* dataFiles(dataDir: string): AsyncGenerator<Member> {
  for (const name of namesIn(dataDir)) {
    const content = await readFile(join(dataDir, name)).catch((error: unknown) => {
      // Sent mail was removed.
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (content) yield { name, content }
  }
}

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Undefined: there is no such file. */
export const isSame = (file: string, other: string): boolean | undefined => {
  try {
    return digestOf(file) === digestOf(other)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
