// node bench/structure.ts
//
// How much code there is, and how much of it a request runs through: lines and names by the text of the files, files of a request by the
// coverage that V8 counts in the first thread of a server that runs from its sources.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { environment } from '../scripts/server-process.mjs'
import { end } from './children.ts'
import { adminPassword, programOfSources } from './server.ts'
import { accountData, call, freeRequests, untold } from './stage.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const say = (line: string) => process.stdout.write(`${line}\n`)

const sourcesIn = (folder: string) =>
  execFileSync('git', ['ls-files', folder], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((name) => /\.(ts|mjs|sql)$/.test(name))

const textsOf = (folder: string) =>
  Promise.all(
    sourcesIn(folder).map(async (name) => ({ name, text: await readFile(join(root, name), 'utf8') })),
  )

const definition =
  /^(?:\/\*\*.*?\*\/\s*)?(?:export )?(?:async )?(?:const|let|function\*?|class|interface|type) (?<name>[\w$]+)/s

/** Names that three or more files define at their top level, each in another way. */
const namesWithSeveralMeanings = (files: readonly { name: string; text: string }[]) => {
  const meanings = new Map<string, Map<string, string>>()
  for (const { name: file, text } of files)
    for (const statement of text.split(/\n(?=\S)/)) {
      const name = definition.exec(statement)?.groups?.name
      if (name === undefined) continue
      const known = meanings.get(name) ?? new Map<string, string>()
      meanings.set(name, known.set(file, statement.replace(/\s+/g, ' ')))
    }
  return [...meanings].filter(([, texts]) => texts.size >= 3 && new Set(texts.values()).size >= 3)
}

const startWithInspector = async (dataDir: string) => {
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', programOfSources, 'serve'], {
    env: {
      ...environment,
      PATH: process.env.PATH,
      CROSSPOINT_DATA_DIR: dataDir,
      CROSSPOINT_PORT: '0',
      CROSSPOINT_ADMIN_PASSWORD: adminPassword,
      CROSSPOINT_LOG_LEVEL: 'error',
      CROSSPOINT_HTTP_THREADS: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const found = (stream: NodeJS.ReadableStream, pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      createInterface({ input: stream }).on('line', (line) => {
        const match = pattern.exec(line)?.[1]
        if (match) resolve(match)
      })
      child.once('exit', (status) => reject(new Error(`the server ended with status ${status}`)))
    })
  const [port, inspector] = await Promise.all([
    found(child.stdout, /ready at http:\/\/[^ ]*:(\d+)$/),
    found(child.stderr, /(ws:\/\/\S+)/),
  ])
  return { child, port: Number(port), inspector }
}

interface ScriptCoverage {
  url: string
  functions: { ranges: { count: number }[] }[]
}

const openProfiler = async (inspector: string) => {
  const socket = new WebSocket(inspector)
  await once(socket, 'open')
  let asked = 0
  const ask = async (method: string, params: object = {}): Promise<{ result: ScriptCoverage[] }> => {
    asked += 1
    const id = asked
    socket.send(JSON.stringify({ id, method, params }))
    while (true) {
      const [message] = (await once(socket, 'message')) as [Buffer]
      const answer = JSON.parse(message.toString())
      if (answer.id === id) return answer.result
    }
  }
  await ask('Profiler.enable')
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    /** Files of ours in which a function has run since this was asked last. */
    async files() {
      const { result } = await ask('Profiler.takePreciseCoverage')
      const run = result.filter(({ functions }) =>
        functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
      )
      const urls = run.map(({ url }) => url)
      return new Set(
        urls.filter((url) => url.startsWith(`file://${root}`) && !url.includes('/node_modules/')),
      )
    },
    close: () => socket.close(),
  }
}

const repetitions = 7

/** Files that all of several repetitions used: timers run in few of them. */
const filesOf = async (
  profiler: Awaited<ReturnType<typeof openProfiler>>,
  request: (turn: number) => Promise<unknown>,
) => {
  let common: Set<string> | undefined
  for (let turn = 0; turn < repetitions; turn += 1) {
    await profiler.files()
    await request(turn)
    const files = await profiler.files()
    common = common ? new Set([...common].filter((file) => files.has(file))) : files
  }
  return [...(common ?? [])].map((url) => url.slice(`file://${root}`.length)).toSorted()
}

const showFiles = (title: string, files: readonly string[], goal: number) => {
  say(`${title}: ${files.length} files  goal ${goal}: ${files.length <= goal ? 'reached' : 'MISSED'}`)
  if (process.argv.includes('--files')) for (const file of files) say(`  ${file}`)
}

const dataDir = await mkdtemp(join(tmpdir(), 'crosspoint-structure-'))
const { child, port, inspector } = await startWithInspector(dataDir)
try {
  const { token, masterId } = await freeRequests({
    port,
    pid: 0,
    startMs: 0,
    startProcessorMs: 0,
    stop: () => end(child),
  })
  const { data: account } = await call(
    port,
    'PUT',
    `/v2/accounts/${masterId}?${untold}`,
    token,
    accountData(1),
  )
  const profiler = await openProfiler(inspector)
  const path = `/v2/accounts/${account.id}`
  showFiles('GET of an account', await filesOf(profiler, () => call(port, 'GET', path, token)), 40)
  const numberAt = (turn: number) => encodeURIComponent(`+1415555${1000 + turn}`)
  const purchase = (turn: number) => call(port, 'PUT', `${path}/phone_numbers/${numberAt(turn)}`, token, {})
  showFiles('PUT of a number', await filesOf(profiler, purchase), 95)
  profiler.close()
} finally {
  await end(child)
  await rm(dataDir, { recursive: true, force: true })
}

const server = await textsOf('src')
const packages = ['import-kazoo', 'cli', 'demo']
const linesOf = (files: typeof server) =>
  files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
const names = namesWithSeveralMeanings(server)
say(`server: ${linesOf(server)} lines in ${server.length} files`)
for (const name of packages) {
  const files = await textsOf(name)
  say(`${name}: ${linesOf(files)} lines in ${files.length} files`)
}
say(
  `names with several meanings in three or more files: ${names.length}  goal 120: ${names.length <= 120 ? 'reached' : 'MISSED'}`,
)
if (process.argv.includes('--names'))
  for (const [name, texts] of names.toSorted(([, a], [, b]) => b.size - a.size))
    say(`  ${name}: ${texts.size} files`)
