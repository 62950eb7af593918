// `npm run test:chance`: runs the same tests several times, in shuffled order, with other seeds, with all cores busy and with
// delayed timers and responses. Names the tests whose result is not the same each time, or that fail.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const delays = pathToFileURL(join(root, 'test', 'support', 'delays.mjs')).href

const options = {
  runs: { type: 'string', default: '2' },
  seed: { type: 'string', default: String(randomInt(1_000_000)) },
  busy: { type: 'string', default: String(availableParallelism()) },
}

/** Processes that only use a core each. */
const keepCoresBusy = (cores) => {
  const busy = Array.from({ length: cores }, () =>
    spawn(process.execPath, ['-e', 'for(;;){}'], { stdio: 'ignore' }),
  )
  return () => {
    for (const child of busy) child.kill('SIGKILL')
  }
}

const environmentOf = (seed) => ({
  ...process.env,
  CROSSPOINT_TEST_SEED: String(seed),
  CROSSPOINT_TEST_DELAYS: String(seed),
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${delays}`,
})

const shuffled = (seed) => ['--sequence.shuffle.files', '--sequence.shuffle.tests', `--sequence.seed=${seed}`]

let running
let endedBy
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    endedBy = signal
    running?.kill(signal)
  })

const runOnce = async (seed, files, outputFile) => {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${outputFile}`]
  running = spawn(process.execPath, [vitest, 'run', ...files, ...shuffled(seed), ...reporters], {
    cwd: root,
    env: environmentOf(seed),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const signal = await new Promise((resolve, reject) => {
    running.on('error', reject)
    running.on('close', (_status, signal) => resolve(endedBy ?? signal))
  })
  if (signal) {
    process.stderr.write(`test:chance was ended by ${signal}; its results are above as far as it came.\n`)
    process.exit(1)
  }
  return JSON.parse(await readFile(outputFile, 'utf8'))
}

/** The results of one run, by the name of the file or of the test in it. Tests of the same name have one result together. */
const resultsOf = ({ testResults }) => {
  const all = testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name)
    return [[file, status], ...assertionResults.map((test) => [`${file} > ${test.fullName}`, test.status])]
  })
  const byName = Map.groupBy(all, ([name]) => name)
  return [...byName].map(([name, results]) => [
    name,
    results
      .map(([, status]) => status)
      .sort()
      .join(' and '),
  ])
}

const usage = 'usage: npm run test:chance -- [--runs=N] [--seed=N] [--busy=N] [FILES]\n'

const readArguments = () => {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const [runs, seed, busy] = [values.runs, values.seed, values.busy].map(Number)
    if ([runs, seed, busy].every((value) => Number.isInteger(value) && value >= 0) && runs > 0)
      return { runs, seed, busy, files: positionals }
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
  }
  process.stderr.write(usage)
  return process.exit(2)
}

const { runs, seed, busy, files } = readArguments()

const folder = await mkdtemp(join(tmpdir(), 'crosspoint-chance-'))
const endBusy = keepCoresBusy(busy)
process.on('exit', () => {
  endBusy()
  rmSync(folder, { recursive: true, force: true })
})
const seen = new Map()
for (let run = 0; run < runs; run += 1) {
  process.stdout.write(`\nRun ${run + 1} of ${runs}, seed ${seed + run}\n`)
  const report = await runOnce(seed + run, files, join(folder, `${run}.json`))
  for (const [name, status] of resultsOf(report)) seen.set(name, [...(seen.get(name) ?? []), status])
}
endBusy()
const isUnsteady = (results) =>
  results.length !== runs || results.some((result) => result !== results[0] || result.includes('failed'))
const unsteady = [...seen].filter(([, results]) => isUnsteady(results))
for (const [name, results] of unsteady) process.stdout.write(`${results.join(', ').padEnd(20)} ${name}\n`)
process.stdout.write(
  unsteady.length === 0
    ? `The results of ${seen.size} files and tests are the same in ${runs} runs.\n`
    : `${unsteady.length} files or tests failed or have other results in some runs. Repeat with --seed=${seed}.\n`,
)
process.exitCode = unsteady.length === 0 ? 0 : 1
