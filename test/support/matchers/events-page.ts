// The page of all types of events, made from what the areas declare.
import { declarationsOf } from '../../../src/areas/assemble.ts'
import { areas } from '../../../src/areas/index.ts'

const { kinds, events } = declarationsOf(areas)

const row = ([name, text]: [string, string]) => `| \`${name}\` | ${text.replaceAll('|', '\\|')} |`

const tableOf = (texts: Readonly<Record<string, string>>) => Object.entries(texts).sort().map(row).join('\n')

export const eventsPage = () => `# Events

Made from what the areas declare: do not edit. \`npm run generate\` writes this page.

Every committed change is an event of its account, and so are some things that happen without a change of a record. \`after\` is the
public form of the record with its \`id\`, as \`GET\` returns it, unless the table says otherwise. Times are Gregorian seconds, and
amounts are dollars.

## What happens

These types have separate names. *Change*: the event replaces \`<kind>.<action>\` of a change, and has an entry in the audit log.
*Extra*: the event comes in addition to changes, or without any.

| Type | When, and what it contains |
|---|---|
${tableOf(events)}

The actor of changes that a task makes is the task: {\`type\`: \`task\`, \`id\`: its id}.

## Changes of records

\`<kind>.created\`, \`<kind>.edited\` and \`<kind>.deleted\` of each of these kinds. A deleted record has no \`after\`. With
\`with_before=true\`, \`before\` is the whole record. Secrets are masked.

| Kind | Records |
|---|---|
${tableOf(kinds)}
`
