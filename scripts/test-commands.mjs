// What `npm test`, `npm run test:all`, `npm run test:chance`, `npm run check` and `npm run generate` run.
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

// Each compares generated files with the committed ones. The second ones read the examples that the first one writes.
const generatingTests = [
  ['test/permissions.test.ts'],
  ['openapi', 'settings-page', 'events-page', 'properties', 'rules/wording'].map(
    (name) => `test/${name}.test.ts`,
  ),
]

export const testCommands = new Set(['test', 'test:all', 'test:chance', 'check', 'generate'])

/** The scripts behind a test command, run in this order until one fails. */
export const testSteps = (root, command, args) => {
  const tool = (...path) => join(root, 'node_modules', ...path)
  const tsc = (project) => ({
    script: [tool('typescript', 'bin', 'tsc'), '--noEmit', '-p', join(root, project)],
    cwd: root,
  })
  const whole = args.length === 0 ? { CROSSPOINT_TEST_WHOLE: 'yes' } : {}
  const vitest = { script: [tool('vitest', 'vitest.mjs'), 'run', ...args], cwd: root, env: whole }
  switch (command) {
    case 'test:all':
      return [{ ...vitest, env: { ...whole, CROSSPOINT_TEST_LENGTH: 'all' } }]
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
          env: { CROSSPOINT_TEST_ENGINES: 'sqlite', ENGINE: '' },
        },
      ]
    case 'generate':
      return generatingTests.map((files) => ({
        ...vitest,
        script: [...vitest.script, ...files],
        env: {
          CROSSPOINT_TEST_ENGINES: 'sqlite',
          ENGINE: '',
          CROSSPOINT_TEST_LENGTH: 'all',
          UPDATE_EXPECTED: '1',
        },
      }))
    default:
      return [vitest]
  }
}
