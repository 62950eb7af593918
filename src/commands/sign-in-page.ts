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

const pageIn = (folder: string) => join(folder, 'sign-in.html')

/** Removes the page, also one that a killed process has left. One that cannot be removed leads nowhere after half an hour. */
export const removeSignIn = (folder: string) => {
  try {
    rmSync(pageIn(folder), { force: true })
  } catch {
    // No reason to end a server that works.
  }
}

/**
 * Opens a link that signs somebody in. Everybody on a machine can read how a program was called: what is handed to the browser is
 * a page in a folder that only this user may read. Does nothing where that cannot be: the link has been printed.
 */
export const openSignIn = async (link: string, folder: string): Promise<void> => {
  const page = pageIn(folder)
  try {
    // What is there already would keep its mode.
    writeFileSync(page, pageTo(link), { mode: 0o600, flag: 'wx' })
    setTimeout(() => removeSignIn(folder), readWithinMs).unref()
    const { default: open } = await import('open')
    await open(pathToFileURL(page).href)
  } catch {
    // A courtesy, and no more.
  }
}
