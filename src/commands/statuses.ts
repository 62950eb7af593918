/** Exit statuses (docs/guides/command-line.md). */
export const status = {
  done: 0,
  failed: 1,
  misused: 2,
  notSignedIn: 3,
  unreachable: 4,
  chargesNotAccepted: 5,
  interrupted: 130,
} as const

/** A number is the exit status; anything else means 0. */
export type Run = (work: () => Promise<unknown>) => Promise<void>
