import { expect } from 'vitest'

/** `data` of a 403 from the policy of a route: it names the allowed callers. */
export const notForCaller = { message: 'forbidden', cause: expect.stringMatching(/^may be called by: \S/) }
