import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withStaging } from '../../src/saved/staging.ts'

describe('a folder for what is not whole', () => {
  let dataDir: string

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-staging-'))
  })

  afterEach(() => rmSync(dataDir, { recursive: true }))

  const leave = (name: string, hours: { folder: number; file: number }) => {
    const folder = join(dataDir, name)
    const file = join(folder, 'crosspoint.db')
    const hoursAgo = (ago: number) => Date.now() / 1000 - ago * 3600
    mkdirSync(folder)
    writeFileSync(file, '')
    utimesSync(file, hoursAgo(hours.file), hoursAgo(hours.file))
    utimesSync(folder, hoursAgo(hours.folder), hoursAgo(hours.folder))
  }

  it('is gone afterwards, as are those of other machines after a day without writes', async () => {
    leave('staging-gone-7-aaaaaa', { folder: 30, file: 25 })
    leave('staging-there-7-bbbbbb', { folder: 30, file: 1 })
    leave('other', { folder: 30, file: 30 })
    const during = await withStaging(dataDir, async (folder) => {
      writeFileSync(join(folder, 'crosspoint.db'), '')
      return readdirSync(dataDir).length
    })
    expect(during).toBe(3)
    expect(readdirSync(dataDir).sort()).toEqual(['other', 'staging-there-7-bbbbbb'])
  })
})
