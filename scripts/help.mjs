// Help of the commands that the launcher runs: printed before anything is installed. On any Node.

const texts = {
  test: `usage: npm test [-- FILES] [-- OPTIONS]

Runs the tests on both stores. FILES limits the run to files whose path contains one of these texts.
OPTIONS are those of vitest, such as --bail=1 or -t NAME.

Without CROSSPOINT_TEST_DATABASE_URL the tests bring their own PostgreSQL. docs/reference/tests.md has more.
`,
  'test:all': `usage: npm run test:all [-- FILES] [-- OPTIONS]

Runs every test on both stores at full length: every walk, kill and failover. It takes an hour.
FILES and OPTIONS are those of npm test.
`,
  'test:chance': `usage: npm run test:chance [-- FILES] [-- OPTIONS]

Runs tests several times: in shuffled order, with other seeds, with all cores busy, with delayed timers and
responses. Names each test that fails or whose result differs.

  --runs=N  number of runs (default: 2)
  --seed=N  repeat the order and the delays of an earlier run (default: a new seed)
  --busy=N  number of processes that keep a core busy (default: the number of cores)
`,
  check: `usage: npm run check

Runs format, lint, types, architecture and the fast tests on SQLite. Ends with the first step that fails.
`,
  generate: `usage: npm run generate

Writes all generated files: openapi.json, its examples, test/expected, and the pages of operations, settings and
events in docs/reference. The check, npm run check, fails if one of them is out of date.
`,
  bench: `usage: npm run bench [-- OPTIONS]

Prints each measured figure, the floor measured in the same run, and their ratio.

  --engine=sqlite|postgres  measure one store (default: both)
  --only=TEXT               measure only what has TEXT in its name
  --rounds=N                rounds for each measurement (default: 3)
  --seconds=N               seconds for each round (default: 3)
  --profile                 print the functions that take most of the processor time
  --soak=MINUTES            run a mixed load and watch the memory instead (default store: sqlite)
  --chart=FILE              chart of the soak run (default: soak.svg)
`,
  attack: `usage: npm run attack [-- OPTIONS]

Sends malformed and random requests to a server and reports leaks, crashes and other faults.

  --engine=sqlite|postgres  attack one store (default: both)
  --minutes=N               minutes for all stores together (default: 30)
  --requests=N              at most N requests for each store (default: no limit)
  --seed=N                  repeat the requests of an earlier run (default: a new seed)
  --round=N                 requests between two checks of the server (default: 20000)
`,
  docs: `usage: npm run docs -- FOLDER

Writes the guides and the API reference into FOLDER, as a site for any web server. FOLDER must be missing or empty.
`,
}

/** Whether the arguments of a command ask for its help. */
export const asksForHelp = (args) => {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h')
}

/** The help of a command of the launcher; undefined for commands that have their own. */
export const helpOf = (command) => (Object.hasOwn(texts, command ?? '') ? texts[command] : undefined)
