// Generators and linters of other projects read openapi.json. Their packages are in this folder: 139 MB that no other test needs.
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const here = import.meta.dirname
const root = join(here, '../..')
const openApi = join(root, 'openapi.json')
const modules = join(here, 'node_modules')
const lock = join(here, 'package-lock.json')
const installedLock = join(modules, '.installed-lock.json')
const place = mkdtempSync(join(tmpdir(), 'crosspoint-generators-'))

const textOf = (path: string) => readFileSync(path, 'utf8')

/** Runs a script on this Node, and returns what it prints and its status. */
const execute = (script: string, ...args: string[]) =>
  run(process.execPath, [script, ...args], {
    cwd: place,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    ({ stdout, stderr }) => ({ status: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ status: code as number, output: `${stdout}${stderr}` }),
  )

const executePackage = (name: string, ...args: string[]) => execute(join(modules, '.bin', name), ...args)

/** The errors of the repository's compiler in the generated files. */
const compile = async (include: string) => {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    skipLibCheck: true,
  }
  const project = join(place, `tsconfig.${include}.json`)
  writeFileSync(project, JSON.stringify({ compilerOptions, include: [include] }))
  return execute(join(root, 'node_modules/typescript/bin/tsc'), '-p', project)
}

const fine = { status: 0, output: '' }

beforeAll(async () => {
  if (!existsSync(installedLock) || textOf(installedLock) !== textOf(lock)) {
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here })
    copyFileSync(lock, installedLock)
  }
  writeFileSync(join(place, 'package.json'), JSON.stringify({ type: 'module' }))
  symlinkSync(modules, join(place, 'node_modules'))
})

afterAll(() => rmSync(place, { recursive: true, force: true }))

it.each([
  ['openapi-typescript', 'types.ts', [openApi, '-o', 'types.ts']],
  ['openapi-ts', 'hey-api', ['-i', openApi, '-o', 'hey-api', '-s']],
  ['oazapfts', 'oazapfts.ts', [openApi, 'oazapfts.ts']],
])('%s generates code that compiles, without numbered names', async (program, include, args) => {
  const made = await executePackage(program, ...args)
  expect(made.status, made.output).toBe(0)
  expect(await compile(include)).toEqual(fine)
  const files = [include, ...globSync(`${include}/**/*.ts`, { cwd: place })].filter((name) =>
    name.endsWith('.ts'),
  )
  const numbered = files.flatMap((name) => [
    ...textOf(join(place, name)).matchAll(/^export (?:type|interface|const|function) (\w*\d)\b/gm),
  ])
  expect(numbered.map(([, name]) => name).filter((name) => name !== 'E911')).toEqual([])
})

it('redocly finds no error', async () => {
  const { status, output } = await executePackage(
    'redocly',
    'lint',
    openApi,
    '--config',
    join(root, 'redocly.yaml'),
  )
  expect(status, output).toBe(0)
})

it('spectral finds no error', async () => {
  writeFileSync(join(place, 'spectral.json'), JSON.stringify({ extends: ['spectral:oas'] }))
  const { status, output } = await executePackage(
    'spectral',
    'lint',
    openApi,
    '-r',
    'spectral.json',
    '--quiet',
  )
  expect(status, output).toBe(0)
})
