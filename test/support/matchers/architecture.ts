// The imports and calls that must never exist, so that each kind of code keeps its place.
import { posix } from 'node:path'
import { type Import, lineAt, readSource, type SourceFile } from './source-text.ts'

interface Finding {
  line: number
  what: string
}

interface Rule {
  says: string
  appliesTo(path: string): boolean
  find(file: SourceFile): Finding[]
}

interface AreaEdge {
  from: string
  to: string
  at: string
}

const outsideWorld =
  /^(?:node:)?(?:fs|http|http2|https|net|tls|dns|dgram|child_process|sqlite)(?:\/.*)?$|^(?:pg|nodemailer)$/
const webServer = /^(?:node:)?(?:http|https|http2)$/
const databaseDriver = /^(?:pg|(?:node:)?sqlite)$/
const nodeProcess = /^(?:node:)?process$/
// Packages outside the server, which only commands load. The importer keeps the rules of areas.
const importer = 'import-kazoo'
const packages = ['cli', 'demo', importer]
const roomsWithRows = [
  ...['areas', 'auth', 'batches', 'commands', 'events', 'jobs', 'mail', 'payment'].map(
    (name) => `src/${name}`,
  ),
  importer,
]
// What other areas may import: what an area offers, its shapes, its pure decisions, its signals, what it declares.
const openFiles = [
  'area.ts',
  'schema.ts',
  'rules.ts',
  'signals.ts',
  'settings.ts',
  'failures.ts',
  'notices.ts',
]
// The types and forms of events. The code that delivers events is next to this file.
const shapesOfEvents = 'src/events/events.ts'
const impureFolders = ['storage', 'http', 'jobs', 'batches', 'events', 'mail', 'dns', 'config'].map(
  (name) => `src/${name}`,
)
const environmentUse = /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[/g
const timeOrChance =
  /\bDate\s*\.\s*now\b|\bDate\s*\(\s*\)|\bnew\s+Date\b(?!\s*\()|\bMath\s*\.\s*random\b|\b(?:randomBytes|randomUUID\w*|randomInt|randomFill(?:Sync)?|getRandomValues)\b/g
const consoleUse = /\bconsole\s*\.\s*\w+/g
// Upper case anywhere; lower case only where a text begins, for prose selects things from lists too.
const sql =
  /\bINSERT INTO\b|\bUPDATE\b[\s\S]*\bSET\b|\bDELETE FROM\b|\bSELECT\b[\s\S]*\bFROM\b|\b(?:CREATE|ALTER|DROP) (?:TABLE|INDEX)\b|^\s*(?:insert into|delete from|update\s[\s\S]*\sset|select\s[\s\S]*\sfrom)\s/

const isIn = (path: string, ...folders: string[]) => folders.some((folder) => path.startsWith(`${folder}/`))
/** Files of one folder may have names before it: `legs.rules.ts`. */
const isNamed = (path: string, ...names: string[]) =>
  names.some((name) => posix.basename(path) === name || path.endsWith(`.${name}`))
const isServerCode = (path: string) => isIn(path, 'src', 'bin', ...packages)
const isAreaFile = (path: string, ...names: string[]) =>
  isIn(path, 'src/areas', importer) && isNamed(path, ...names)
const isPureAreaFile = (path: string) => isAreaFile(path, 'rules.ts', 'schema.ts')

/** The area that a file belongs to: a folder in one of the groups. */
const areaOf = (path: string) => /^src\/areas\/[^/]+\/([^/]+)\//.exec(path)?.[1]

const importsWhere = (isForbidden: (imported: Import, file: SourceFile) => boolean) => (file: SourceFile) =>
  file.imports
    .filter((imported) => isForbidden(imported, file))
    .map(({ line, target }) => ({ line, what: target }))

const codeMatching = (pattern: RegExp) => (file: SourceFile) =>
  [...file.code.matchAll(pattern)].map((use) => ({ line: lineAt(file.code, use.index), what: use[0] }))

const findSql = (file: SourceFile) =>
  file.literals
    .filter(({ text }) => sql.test(text))
    .map(({ start, text }) => ({ line: lineAt(file.code, start), what: text.trim().slice(0, 40) }))

// node:net also checks the form of addresses, and touches no network for that.
const judgesAddresses = ({ target, valueNames }: Import) =>
  target === 'node:net' && valueNames.length > 0 && valueNames.every((name) => name.startsWith('isIP'))

const reachesOutside = (imported: Import) => outsideWorld.test(imported.target) && !judgesAddresses(imported)

const isImpureForArea = (imported: Import) =>
  reachesOutside(imported) ||
  imported.target === 'src/compose.ts' ||
  (isIn(imported.target, ...impureFolders) && imported.target !== shapesOfEvents) ||
  isAreaFile(imported.target, 'routes.ts', 'operations.ts', 'store.ts', 'sql.ts')

const isImpureForLib = (imported: Import) =>
  reachesOutside(imported) || (isServerCode(imported.target) && !isIn(imported.target, 'src/lib'))

const takesTimeOrChance = ({ target, isTypeOnly, valueNames }: Import) => {
  if (isTypeOnly) return false
  if (target === 'src/lib/ids.ts') return !valueNames.every((name) => /^is[A-Z]/.test(name))
  return target === 'src/lib/clock.ts'
}

const takesEnvironment = ({ target, valueNames }: Import) =>
  nodeProcess.test(target) && valueNames.includes('env')

const isForeign = ({ target, isTypeOnly }: Import, { path }: SourceFile) => {
  if (target === 'src/areas/index.ts') return true
  const area = areaOf(target)
  if (area === undefined || area === areaOf(path)) return false
  // A type has no effect at run time. The types of rows and routes are private to their area even so.
  return (
    !isNamed(target, ...openFiles) && !(isTypeOnly && !isNamed(target, 'store.ts', 'sql.ts', 'routes.ts'))
  )
}

const rules: Rule[] = [
  {
    says: 'rules.ts and schema.ts are pure: no storage, http, network or files (rule 1)',
    appliesTo: isPureAreaFile,
    find: importsWhere(isImpureForArea),
  },
  {
    says: 'clock and randomness are handed to rules.ts and schema.ts (rule 1)',
    appliesTo: isPureAreaFile,
    find: importsWhere(takesTimeOrChance),
  },
  {
    says: 'lib/ is pure and imports only itself (rule 1)',
    appliesTo: (path) => isIn(path, 'src/lib'),
    find: importsWhere(isImpureForLib),
  },
  {
    says: 'operations.ts knows nothing of HTTP (rule 2)',
    appliesTo: (path) => isAreaFile(path, 'operations.ts'),
    find: importsWhere(
      ({ target }) => isIn(target, 'src/http') || isAreaFile(target, 'routes.ts') || webServer.test(target),
    ),
  },
  {
    says: 'SQL is only in store.ts, files named *.sql.ts and storage/ (rules 2 and 3)',
    appliesTo: (path) =>
      isServerCode(path) &&
      !isIn(path, 'src/storage') &&
      !(isIn(path, ...roomsWithRows) && isNamed(path, 'store.ts', 'sql.ts')),
    find: findSql,
  },
  {
    says: 'the database is reached only through storage/ (rule 3)',
    appliesTo: (path) => isServerCode(path) && !isIn(path, 'src/storage'),
    find: importsWhere(({ target }) => databaseDriver.test(target)),
  },
  {
    says: 'the web server is used only in http/, its client in outgoing/ (rule 3)',
    appliesTo: (path) => isServerCode(path) && !isIn(path, 'src/http') && !isIn(path, 'src/outgoing'),
    find: importsWhere(({ target }) => webServer.test(target)),
  },
  {
    says: 'of another area only area.ts, schema.ts, rules.ts, signals.ts, its declarations and types may be imported, never its store or routes (rule 4)',
    appliesTo: (path) =>
      areaOf(path) !== undefined || (isIn(path, importer) && !isIn(path, `${importer}/commands`)),
    find: importsWhere(isForeign),
  },
  {
    says: 'areas are handed to the other folders, which import none (rule 5)',
    appliesTo: (path) => /^src\/(?!areas\/|commands\/)[^/]+\//.test(path),
    find: importsWhere(({ target }) => isIn(target, 'src/areas')),
  },
  {
    says: 'only commands load cli/, demo/ and import-kazoo/',
    appliesTo: (path) => isIn(path, 'src') && !isIn(path, 'src/commands'),
    find: importsWhere(({ target }) => isIn(target, ...packages)),
  },
  {
    says: 'cli/ is a client: of the server it imports only pure helpers, settings, and how commands print and end',
    appliesTo: (path) => isIn(path, 'cli'),
    find: importsWhere(
      ({ target }) =>
        isIn(target, 'src', 'demo', importer) &&
        !isIn(target, 'src/lib', 'src/config') &&
        !isNamed(target, 'output.ts', 'statuses.ts'),
    ),
  },
  {
    says: 'process.env is read only in config/env.ts (rule 6)',
    appliesTo: (path) => isServerCode(path) && path !== 'src/config/env.ts',
    find: (file) => [...codeMatching(environmentUse)(file), ...importsWhere(takesEnvironment)(file)],
  },
  {
    says: 'time and chance come only from lib/clock.ts and lib/ids.ts (rule 6)',
    appliesTo: (path) => isServerCode(path) && path !== 'src/lib/clock.ts' && path !== 'src/lib/ids.ts',
    find: codeMatching(timeOrChance),
  },
  {
    says: 'console/ and client/ are plain API clients and import nothing from src/ (rule 7)',
    appliesTo: (path) => isIn(path, 'console', 'client'),
    find: importsWhere(({ target }) => isIn(target, 'src')),
  },
  {
    says: 'client/ runs in browsers, too: it imports nothing of Node',
    appliesTo: (path) => isIn(path, 'client'),
    find: importsWhere(({ target }) => target.startsWith('node:')),
  },
  {
    says: 'commands import the core of client/ as it is, which nothing generated is a part of',
    appliesTo: (path) => isIn(path, 'client/src') && !isNamed(path, 'index.ts', 'typed.ts'),
    find: importsWhere(
      ({ target }) => isIn(target, 'client/src/generated') || /(?:index|typed)\.ts$/.test(target),
    ),
  },
  {
    says: 'only bin/ writes to the terminal; the rest of the server logs',
    appliesTo: (path) => isIn(path, 'src', ...packages),
    find: codeMatching(consoleUse),
  },
]

const areaEdges = (files: SourceFile[]): AreaEdge[] =>
  files.flatMap(({ path, imports }) =>
    imports.flatMap(({ target, line }) => {
      const from = areaOf(path)
      const to = areaOf(target)
      return from && to && from !== to ? [{ from, to, at: `${path}:${line}` }] : []
    }),
  )

const reachableFrom = (start: string, edges: AreaEdge[]) => {
  const reached = new Set([start])
  // Iterating a set also visits values that are added during it.
  for (const area of reached) for (const { from, to } of edges) if (from === area) reached.add(to)
  return reached
}

/** Files that import each other in a circle, through values or types. */
const circularFiles = (files: SourceFile[]) => {
  const imports = new Map(
    files.filter(({ path }) => isIn(path, 'src')).map((file) => [file.path, file.imports] as const),
  )
  const reach = (start: string) => {
    const reached = new Set((imports.get(start) ?? []).map(({ target }) => target))
    for (const path of reached) for (const { target } of imports.get(path) ?? []) reached.add(target)
    return reached
  }
  return [...imports.keys()]
    .filter((path) => reach(path).has(path))
    .map((path) => `${path}:1: files do not import each other in a circle, not even types`)
}

const circularImports = (files: SourceFile[]) => {
  const edges = areaEdges(files)
  return edges
    .filter(({ from, to }) => reachableFrom(to, edges).has(from))
    .map(({ from, to, at }) => `${at}: areas do not import each other in a circle (rule 4): ${from} -> ${to}`)
}

/** Every breach as `file:line: what the rule says: what was found`, for files given as path -> text. */
export const findViolations = (texts: Record<string, string>) => {
  const files = Object.entries(texts).map(([path, text]) => readSource(path, text))
  const breaches = files.flatMap((file) =>
    rules
      .filter(({ appliesTo }) => appliesTo(file.path))
      .flatMap(({ says, find }) =>
        find(file).map(({ line, what }) => `${file.path}:${line}: ${says}: ${what}`),
      ),
  )
  return [...new Set([...breaches, ...circularImports(files), ...circularFiles(files)])]
}
