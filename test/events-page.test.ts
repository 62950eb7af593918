// The page of events is made from the kinds of records and the types of events that areas declare.
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { declarationsOf } from '../src/areas/assemble.ts'
import { areas } from '../src/areas/index.ts'
import { eventTypesOf } from '../src/events/events.ts'
import { eventsPage } from './support/matchers/events-page.ts'
import { isCommitted } from './support/matchers/generated.ts'

const declared = declarationsOf(areas)

it('is committed as the areas declare it (npm run generate writes it)', () => {
  expect(isCommitted('docs/reference/events.md', eventsPage())).toBe(true)
})

it('says of each event whether it is a change, and which record it names', () => {
  const texts = Object.entries(declared.events)
  expect(texts.filter(([, text]) => !/^(?:Change|Extra): .* Record: `/.test(text))).toEqual([])
})

// Names of kinds of records in the store and in events.
const kindForms = [
  /createAttachment<[^(]*>\(\s*store,\s*'([a-z_]+)'/g,
  /createFiles\(store, '([a-z_]+)'/g,
  /\bkind<[^(]*>\('([a-z_]+)'\)/g,
  /createCollection(?:<[^(]*>)?\(\s*(?:store|base),\s*\{\s*kind: '([a-z_]+)'/g,
  /CollectionDefinition<[^=]*> = \{\s*kind: '([a-z_]+)'/g,
  /record\(\{[^}]*?\bkind: '([a-z_]+)'/g,
  /const (?:template|plan|services|accountConfig|passwordReset|secondFactor|userPhoto|order|request|number)Kind = '([a-z_]+)'/g,
]

it('contains every kind of records that the source stores', () => {
  const texts = globSync('src/**/*.ts').map((path) => readFileSync(path, 'utf8'))
  const found = texts.flatMap((text) =>
    kindForms.flatMap((form) => [...text.matchAll(form)].map(([, kind = '']) => kind)),
  )
  // Whatever can be searched for has the type of something.
  const unknown = found.filter((kind) => kind !== 'any' && !(kind in declared.kinds))
  expect([...new Set(unknown)]).toEqual([])
  expect(eventTypesOf(declared).has('user.edited')).toBe(true)
})

it('contains every type of event that the source emits', () => {
  const texts = globSync('src/**/*.ts').map((path) => readFileSync(path, 'utf8'))
  const emitted = texts.flatMap((text) =>
    Array.from(text.matchAll(/\b(?:type|event): '([a-z_]+\.[a-z_]+)'/g), ([, type = '']) => type),
  )
  const types = eventTypesOf(declared)
  expect(emitted.filter((type) => !types.has(type))).toEqual([])
  expect(new Set(emitted).size).toBeGreaterThan(20)
})
