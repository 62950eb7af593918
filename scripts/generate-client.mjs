// Builds client/src/generated from openapi.json, and client/dist from client/src. Skips what is up to date. Its
// tools are installed with the console.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const client = join(root, 'client')
const tools = join(root, 'console', 'node_modules')
const generated = join(client, 'src', 'generated')
const built = join(client, 'dist')
const thisScript = fileURLToPath(import.meta.url)

const digestOf = (...texts) => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('hex')
}

const stampIn = (folder) => join(folder, '.made-from')

const isMadeFrom = (folder, digest) =>
  existsSync(stampIn(folder)) && readFileSync(stampIn(folder), 'utf8') === digest

/** Others may make the same at the same time: a folder appears whole. */
const putInPlace = (made, folder, digest) => {
  writeFileSync(stampIn(made), digest)
  rmSync(folder, { recursive: true, force: true })
  try {
    renameSync(made, folder)
  } catch (error) {
    if (!isMadeFrom(folder, digest)) throw error
    rmSync(made, { recursive: true })
  }
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

const orNull = ({ description, ...schema }) => ({
  ...(description ? { description } : {}),
  anyOf: [changedMap(schema), { type: 'null' }],
})

/** In maps with free names, every entry may be removed. */
const changedMap = ({ additionalProperties: entry, ...schema }) => {
  if (entry === undefined) return schema
  return { ...schema, additionalProperties: isObject(entry) ? orNull(entry) : entry }
}

/** The body of a PATCH: every field is optional, and null removes it. */
const changesOf = ({ required: _none, title: _name, properties = {}, ...rest }) => ({
  ...changedMap(rest),
  properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, orNull(schema)])),
})

/** Every object of a document, changed from the inside out. */
const mapObjects = (value, change) => {
  if (Array.isArray(value)) return value.map((inner) => mapObjects(inner, change))
  if (!isObject(value)) return value
  return change(
    Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapObjects(inner, change)])),
  )
}

/** openapi.json has the merged record; types need the shape of the change. */
const typedChange = (schemas) => (value) => {
  const merged = value['x-merged-into']
  if (merged === undefined) return value
  const name = /^#\/components\/schemas\/(\w+)$/.exec(merged.$ref ?? '')?.[1]
  if (name === undefined) return changesOf(merged)
  schemas[`${name}Changes`] = changesOf(schemas[name])
  return { $ref: `#/components/schemas/${name}Changes` }
}

/** What takes JSON and files too: the generator looks at JSON alone. */
const orFile = (value) => {
  const { content } = value.requestBody ?? {}
  const json = content?.['application/json']
  if (json === undefined || Object.keys(content).length === 1) return value
  const schema = { anyOf: [json.schema, { type: 'string', format: 'binary' }] }
  return { ...value, requestBody: { ...value.requestBody, content: { 'application/json': { schema } } } }
}

const forTypes = (document) => {
  const change = typedChange(document.components.schemas)
  return { ...document, paths: mapObjects(document.paths, (value) => orFile(change(value))) }
}

/** Answers with what it was made from. */
export const generateClient = async () => {
  const description = readFileSync(join(root, 'openapi.json'), 'utf8')
  const generator = join(tools, '@hey-api', 'openapi-ts')
  const { version, exports } = JSON.parse(readFileSync(join(generator, 'package.json'), 'utf8'))
  const digest = digestOf(description, version, readFileSync(thisScript, 'utf8'))
  if (isMadeFrom(generated, digest)) return digest
  const entry = exports['.']
  const program = typeof entry === 'string' ? entry : (entry.default ?? entry.import?.default ?? entry.import)
  const { createClient } = await import(pathToFileURL(join(generator, program)).href)
  const made = `${generated}.${process.pid}`
  await createClient({
    input: forTypes(JSON.parse(description)),
    output: { path: made, importFileExtension: '.ts' },
    logs: { level: 'silent', file: false },
    plugins: [
      '@hey-api/typescript',
      // The session adds credentials, and there is no client that a call could use by mistake.
      { name: '@hey-api/sdk', auth: false, client: false, responseStyle: 'data' },
      { name: '@hey-api/client-fetch', throwOnError: true },
    ],
  })
  putInPlace(made, generated, digest)
  return digest
}

const sourcesOf = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name))
    .sort()

const run = async (program, args) => {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`${program} ended with ${status}`)
}

/** Generates what is missing, and makes the package's JavaScript and types. */
export const buildClient = async () => {
  const sources = [...sourcesOf(join(client, 'src')), join(client, 'tsconfig.json')]
  const digest = digestOf(await generateClient(), ...sources.map((file) => readFileSync(file, 'utf8')))
  if (isMadeFrom(built, digest)) return
  const made = `${built}.${process.pid}`
  await run(join(tools, 'typescript', 'bin', 'tsc'), ['-p', client, '--outDir', made])
  putInPlace(made, built, digest)
}

if (process.argv[1] === thisScript) {
  if (process.argv.includes('--types-only')) await generateClient()
  else await buildClient()
}
