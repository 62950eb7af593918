import { describe, expect, it } from 'vitest'
import { isCommitted } from './support/matchers/generated.ts'
import {
  gapsOf,
  keysOfDocument,
  readersOf,
  settingsDocuments,
  settingsPage,
} from './support/matchers/settings-page.ts'

const names = Object.keys(settingsDocuments)

describe('the page of settings', () => {
  it('is committed as the schemas make it (npm run generate writes it)', () => {
    const page = settingsPage()
    expect(page).not.toContain('undefined')
    expect(isCommitted('docs/reference/settings.md', page)).toBe(true)
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
