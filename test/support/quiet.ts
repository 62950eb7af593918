/** CROSSPOINT_TEST_QUIET=yes says that nothing else is at work: goals of a second or two are asserted then. */
export const isQuiet = process.env.CROSSPOINT_TEST_QUIET === 'yes'
