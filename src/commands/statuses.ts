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
