// The browser of whoever sits at this machine, opened where the first start leads.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** So long a browser has to start and to read the page. */
const readWithinMs = 60_000

const pageTo = (link: string) =>
  `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${link}">
<title>Crosspoint</title>
<a href="${link}">Sign in</a>
`

/**
 * Opens a link that signs somebody in. Everybody on a machine can read how a program was called: what is handed to the browser is
 * a page in a folder that only this user may read. Answers with what removes the page before its time.
 */
export const openSignIn = async (link: string, folder: string): Promise<() => void> => {
  const page = join(folder, 'sign-in.html')
  const remove = () => rmSync(page, { force: true })
  // Left by a process that was killed: its mode would stay.
  remove()
  writeFileSync(page, pageTo(link), { mode: 0o600 })
  setTimeout(remove, readWithinMs).unref()
  const { default: open } = await import('open')
  // A courtesy: the link has been printed.
  await open(pathToFileURL(page).href).catch(() => undefined)
  return remove
}
