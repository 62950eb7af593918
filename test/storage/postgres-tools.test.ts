import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkTool, startTool } from '../../src/storage/postgres-dump.ts'

describe("PostgreSQL's programs", () => {
  const path = process.env.PATH
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'crosspoint-tools-'))
    process.env.PATH = `${folder}:${path}`
  })

  afterEach(() => {
    process.env.PATH = path
    rmSync(folder, { recursive: true })
  })

  const havePgDump = (script: string) => {
    const file = join(folder, 'pg_dump')
    writeFileSync(file, `#!/bin/sh\n${script}\n`)
    chmodSync(file, 0o755)
  }

  it.each([
    { version: '15.18', fits: [15], unfit: [16, 18] },
    { version: '16.1', fits: [15, 16], unfit: [17] },
    { version: '17.2', fits: [17], unfit: [15, 16, 18] },
    { version: '18beta1', fits: [17, 18], unfit: [15, 16] },
  ])('of $version work on servers of $fits, not on those of $unfit', async ({ version, fits, unfit }) => {
    havePgDump(`echo 'pg_dump (PostgreSQL) ${version}'`)
    for (const server of fits) await checkTool('pg_dump', server)
    for (const server of unfit)
      await expect(checkTool('pg_dump', server)).rejects.toThrow(
        `the server is ${server}: install the client programs of PostgreSQL ${server}`,
      )
  })

  it('end when they are stopped, however much of what they write was never read', async () => {
    havePgDump('exec yes')
    const { output, ended, stop } = startTool(
      'pg_dump',
      { url: 'postgres:///db', environment: process.env },
      [],
    )
    await once(output, 'readable')
    stop()
    await expect(ended).rejects.toThrow('pg_dump failed')
    stop()
  })

  it.each([
    ['postgres://u:geheim@h:5432/db?sslmode=disable', 'postgres://u@h:5432/db?sslmode=disable', 'geheim'],
    ['postgres://u:p@ss@h/db', 'postgres://u@h/db', 'p@ss'],
    ['postgres://me@srv:geheim@h/db', 'postgres://me%40srv@h/db', 'geheim'],
    ['postgresql://u:p%40%2Fw:x@h/db', 'postgresql://u@h/db', 'p@/w:x'],
    ['postgres://u:p%zz@h/db', 'postgres://u@h/db', 'p%zz'],
    ['postgres://u:geheim@/db?host=/run', 'postgres://u@/db?host=/run', 'geheim'],
    ['postgres://u@h/db', 'postgres://u@h/db', ''],
    ['postgres:///db', 'postgres:///db', ''],
  ])('work on %s, and no process list shows its password', async (url, address, password) => {
    havePgDump('printf "%s\\n" "$PGPASSWORD" "$@"')
    const { output, ended } = startTool('pg_dump', { url, environment: { PATH: process.env.PATH } }, [
      '--last',
    ])
    const said = await text(output)
    await ended
    expect(said.split('\n')).toEqual([password, `--dbname=${address}`, '--no-password', '--last', ''])
  })
})
