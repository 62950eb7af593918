/** Whether this is `npm run test:all`. `npm test` runs one short case of what takes long. */
export const isFullRun = process.env.CROSSPOINT_TEST_LENGTH === 'all'

const { CROSSPOINT_TEST_WHOLE, CROSSPOINT_TEST_ENGINES, CROSSPOINT_TEST_CITUS, ENGINE } = process.env
const ownEngines = CROSSPOINT_TEST_ENGINES || CROSSPOINT_TEST_CITUS || ENGINE

/** Whether this run executes all files on both engines. */
export const isWholeRun = CROSSPOINT_TEST_WHOLE === 'yes' && !ownEngines

/** A number of repetitions, kills or rows: the small one in `npm test`, the large one in `npm run test:all`. */
export const countOf = (short: number, full: number) => (isFullRun ? full : short)

/** Tests that only `npm run test:all` runs. They are not defined otherwise, so that no test counts as skipped. */
export const inFullRun = (defineTests: () => void) => {
  if (isFullRun) defineTests()
}
