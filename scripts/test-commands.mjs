// What `npm test`, `npm run test:all`, `npm run test:chance` and `npm run check` run.
import { join } from 'node:path'

// What finds most mistakes within a minute: rules, the architecture, generated files, the sentences of the specification.
const quickTests = [
  'test/architecture',
  'test/areas',
  'test/dns/',
  'test/events-page',
  'test/jobs/',
  'test/openapi',
  'test/properties',
  'test/resources',
  'test/rules/',
  'test/settings-page',
  'test/specification/',
  'test/tasks/',
]

export const testCommands = new Set(['test', 'test:all', 'test:chance', 'check'])

// glibc returns freed memory to the system and asks for it again: that took 7 % of the processor time of the tests.
const keepingMemory = { MALLOC_TRIM_THRESHOLD_: '536870912', MALLOC_MMAP_THRESHOLD_: '536870912' }

/** The scripts behind a test command, run in this order until one fails. */
export const testSteps = (root, command, args) => {
  const tool = (...path) => join(root, 'node_modules', ...path)
  const tsc = (project) => ({
    script: [tool('typescript', 'bin', 'tsc'), '--noEmit', '-p', join(root, project)],
    cwd: root,
  })
  const env = { ...keepingMemory, ...(args.length === 0 ? { CROSSPOINT_TEST_WHOLE: 'yes' } : {}) }
  const vitest = { script: [tool('vitest', 'vitest.mjs'), 'run', ...args], cwd: root, env }
  switch (command) {
    case 'test:all':
      return [{ ...vitest, env: { ...env, CROSSPOINT_TEST_LENGTH: 'all' } }]
    case 'test:chance':
      return [{ script: [join(root, 'scripts', 'test-chance.mjs'), ...args], cwd: root }]
    case 'check':
      return [
        { script: [tool('@biomejs', 'biome', 'bin', 'biome'), 'check'], cwd: root },
        tsc('.'),
        tsc('console'),
        tsc('console/docs'),
        {
          ...vitest,
          script: [...vitest.script, ...quickTests],
          env: { ...env, CROSSPOINT_TEST_ENGINES: 'sqlite', ENGINE: '' },
        },
      ]
    default:
      return [vitest]
  }
}
