/** What a command line ends with (docs/guides/command-line.md). */
export const status = {
  done: 0,
  failed: 1,
  misused: 2,
  notSignedIn: 3,
  unreachable: 4,
  chargesNotAccepted: 5,
  interrupted: 130,
} as const

/** The number that the work answers with is the status; anything else is 0. */
export type Run = (work: () => Promise<unknown>) => Promise<void>
