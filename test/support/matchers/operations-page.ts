// The page that lists every operation of the API in a line: what a change of the document means is read from its diff.
import { openApiDocument } from '../../../src/commands/openapi.ts'

export interface Parameter {
  $ref?: string
  name?: string
  in?: string
}

export interface MediaType {
  schema?: object
  example?: unknown
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, MediaType> }
  responses: Record<string, { $ref?: string; description?: string; content?: Record<string, MediaType> }>
  security?: Record<string, unknown>[]
}

export interface ApiDocument {
  openapi: string
  info: { title: string; version: string; description: string; license: { name: string } }
  servers: { url: string }[]
  security: Record<string, unknown>[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, object>>
}

export const documentText = openApiDocument()
export const apiDocument = JSON.parse(documentText) as ApiDocument

export const operations = Object.entries(apiDocument.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

const opening = `# Operations

Every operation of the API, generated from the routes (\`npm run generate\`). Names are the \`operationId\` in
[\`openapi.json\`](../../openapi.json) and the functions of generated clients. Shapes, status codes and an example of each operation are in that
document, and at \`/docs/api\` of a running server. Names follow a rule; exceptions are in
[operation-names.ts](../../src/http/openapi/operation-names.ts).

\`A\` stands for \`/v2/accounts/{account_id}\`. The callers that a section names may call its operations, except where the last column names others.
`

const mayCall = /^Who may call: (.*)\.$/m

const cell = (text: string) => text.replaceAll('|', '\\|')

type Listed = (typeof operations)[number]

const whoMayCall = ({ operation }: Listed) => mayCall.exec(operation.description)?.[1] ?? ''

/** The policy of most operations of a section, which its table does not repeat. */
const usualOf = (listed: readonly Listed[]) => {
  const groups = [...Map.groupBy(listed, whoMayCall)].sort(([, a], [, b]) => b.length - a.length)
  return groups[0]?.[0] ?? ''
}

const lineOf = (listed: Listed, usual: string) => {
  const { path, method, operation } = listed
  const place = path.replace('/v2/accounts/{account_id}', 'A')
  const who = whoMayCall(listed)
  const cells = [
    `\`${operation.operationId}\``,
    `${method.toUpperCase()} \`${place}\``,
    cell(operation.summary),
  ]
  return `| ${[...cells, who === usual ? '' : cell(who)].join(' | ')} |`
}

export const operationsPage = () => {
  const sections = apiDocument.tags.map(({ name, description }) => {
    const listed = operations.filter(({ operation }) => operation.tags[0] === name)
    const usual = usualOf(listed)
    return [
      `## ${name}`,
      '',
      `${description} Callers: ${usual}.`,
      '',
      '| Operation | Path | Does | Who |',
      '|---|---|---|---|',
      ...listed.map((one) => lineOf(one, usual)),
      '',
    ].join('\n')
  })
  return `${[opening, ...sections].join('\n').trimEnd()}\n`
}
