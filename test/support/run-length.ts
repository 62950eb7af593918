/** Whether this is `npm run test:all`. `npm test` runs one short case of what takes long. */
export const isFullRun = process.env.CROSSPOINT_TEST_LENGTH === 'all'

/** A number of repetitions, kills or rows: the small one in `npm test`, the large one in `npm run test:all`. */
export const countOf = (short: number, full: number) => (isFullRun ? full : short)

/** Tests that only `npm run test:all` runs. They are not defined otherwise, so that no test counts as skipped. */
export const inFullRun = (defineTests: () => void) => {
  if (isFullRun) defineTests()
}
