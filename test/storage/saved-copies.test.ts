// The content of a backup while other processes write, and with unusual names.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Member, readTar, writeTar } from '../../src/saved/tar.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { copySqlite } from '../../src/storage/sqlite-copy.ts'
import { upgradeStorage } from '../../src/storage/upgrades.ts'
import { createTestClock } from '../support/run/clock.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'crosspoint-copies-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('A copy of a store says which upgrade it is at, also where another process upgrades the store at the same time', async () => {
  const file = join(folder, 'live.db')
  const db = openSqlite(file)
  await upgradeStorage(db, createTestClock())
  await db.close()
  const other = new DatabaseSync(file)
  const upgrade = other.prepare("INSERT INTO storage_upgrades VALUES (?, 'of a newer version', 0)")
  const copying = copySqlite(file, folder)
  // At each of the moments at which the copying one waits.
  for (let number = 1000; number < 1100; number += 1) {
    await Promise.resolve()
    upgrade.run(number)
  }
  const copy = await copying
  const copied = new DatabaseSync(join(folder, 'crosspoint.db'), { readOnly: true })
  expect(copied.prepare('SELECT max(number) AS number FROM storage_upgrades').get()).toEqual({
    number: copy.upgrade,
  })
  for (const connection of [copied, other]) connection.close()
  await copy.close()
})

it('Files with long names of any script are taken apart by any tar', async () => {
  const names = [`${'ключ-'.repeat(24)}.pem`, `${'a'.repeat(99)}ü.pem`, 'short.key']
  const members = names.map((name): Member => ({ name, content: Buffer.from(`of ${name}`) }))
  async function* each() {
    yield* members
  }
  const pieces: Uint8Array[] = []
  for await (const piece of writeTar(each())) pieces.push(piece)
  const archive = join(folder, 'archive.tar')
  writeFileSync(archive, Buffer.concat(pieces))
  const list = execFileSync('tar', ['--list', '--quoting-style=literal', '--file', archive], {
    encoding: 'utf8',
  })
  expect(list.trim().split('\n')).toEqual(names)
  const found: string[] = []
  async function* source() {
    yield* pieces
  }
  for await (const { name, content } of readTar(source())) {
    found.push(name)
    for await (const _ of content);
  }
  expect(found).toEqual(names)
})
