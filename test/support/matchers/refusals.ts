import { expect } from 'vitest'

/** `data` of a 403 that the policy of a route has given: by whom it may be called. */
export const notForCaller = { message: 'forbidden', cause: expect.stringMatching(/^may be called by: \S/) }
