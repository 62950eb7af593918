import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  gapsOf,
  keysOfDocument,
  readersOf,
  settingsDocuments,
  settingsPage,
} from './support/matchers/settings-page.ts'

const committed = new URL('../docs/reference/settings.md', import.meta.url)
const names = Object.keys(settingsDocuments)

describe('the page of settings', () => {
  it('is committed as the schemas make it (UPDATE_EXPECTED=1 writes it)', () => {
    const page = settingsPage()
    expect(page).not.toContain('undefined')
    if (process.env.UPDATE_EXPECTED) writeFileSync(committed, page)
    expect(
      readFileSync(committed, 'utf8') === page,
      'docs/reference/settings.md is not what schemas make',
    ).toBe(true)
  })

  it('says of each document what it is about', () => {
    expect(names.filter((name) => !settingsDocuments[name]?.description)).toEqual([])
  })

  it('says of each key what it means, and of each number what it counts', () => {
    const gaps = names.flatMap((name) =>
      keysOfDocument(name).flatMap((key) => gapsOf(key).map((gap) => `${name} ${key.path} lacks ${gap}`)),
    )
    expect(gaps).toEqual([])
  })

  it('has no key that nothing in the server reads', () => {
    const idle = names.flatMap((name) =>
      keysOfDocument(name)
        .filter(({ path }) => !path.includes('.') && readersOf(name, path).length === 0)
        .map(({ path }) => `${name} ${path}`),
    )
    expect(idle).toEqual([])
  })
})
