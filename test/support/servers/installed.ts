// Programs that some tests need and no package of npm brings. Where one is missing its tests are left out: their titles say so, and
// the end of a run names each reason once.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

// The PATH of an ordinary user lacks the folder of servers in Debian.
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

/** The path of a program, if this machine has it. */
export const findProgram = (name: string) =>
  folders.map((folder) => join(folder, name)).find((path) => existsSync(path))

/**
 * Empty where the machine has a program, else what the titles of its tests end with.
 *
 * @example
 * const lacking = lacks('promtool')
 * it.skipIf(lacking)(`has rules that promtool takes${lacking}`, () => {})
 */
export const lacks = (what: string, found: unknown = findProgram(what)) =>
  found ? '' : ` (left out: this machine has no ${what})`

/** Reason why a test was skipped, from its title. */
export const reasonIn = (title: string) => / \(left out: ([^)]+)\)/.exec(title)?.[1]
