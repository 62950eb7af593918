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

Every operation of the API by its name, which [\`openapi.json\`](../../openapi.json) has as \`operationId\` and generated clients have as a
function. Made from the routes, like that document: do not edit. Names follow a rule; what it would call badly stands in
[operation-names.ts](../../src/http/openapi/operation-names.ts).

To see what a change does to the API, read the diff of this page, and that of \`openapi.json\` for shapes. Every operation has an example: a
request that \`test/permissions.test.ts\` executed, and the response, a line an operation in [examples](../../src/http/openapi/examples). Ids are
numbered, times are fixed, lists are cut to two rows, and binary files to 24 bytes in base64. Operations that always refuse show the refusal.
\`npm run generate\` writes this page and the examples.

\`A\` stands for \`/v2/accounts/{account_id}\`. The columns at the end say who may call, and which statuses may come.
`

const mayCall = /^Who may call: (.*)\.$/m

const cell = (text: string) => text.replaceAll('|', '\\|')

const lineOf = ({ path, method, operation }: (typeof operations)[number]) => {
  const { operationId: name, summary, description, responses } = operation
  const place = path.replace('/v2/accounts/{account_id}', 'A')
  const who = mayCall.exec(description)?.[1] ?? ''
  const statuses = Object.keys(responses).join(' ')
  return `| \`${name}\` | ${method.toUpperCase()} \`${place}\` | ${cell(summary)} | ${cell(who)} | ${statuses} |`
}

export const operationsPage = () => {
  const sections = apiDocument.tags.map(({ name, description }) =>
    [
      `## ${name}`,
      '',
      description,
      '',
      '| Operation | Path | Does | Who | Answers |',
      '|---|---|---|---|---|',
      ...operations.filter(({ operation }) => operation.tags[0] === name).map(lineOf),
      '',
    ].join('\n'),
  )
  return `${[opening, ...sections].join('\n').trimEnd()}\n`
}
