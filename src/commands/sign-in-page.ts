// Opens the link of the first start in the browser of this desktop.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Time for the browser to read the page. */
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

/** Also removes a page of a killed process. A remaining page is useless after half an hour. */
export const removeSignIn = (folder: string) => {
  try {
    rmSync(pageIn(folder), { force: true })
  } catch {
    // Not worth a failed start.
  }
}

/** Other users can see command lines, so that the browser gets a private page with the link. The link has also been printed. */
export const openSignIn = async (link: string, folder: string): Promise<void> => {
  const page = pageIn(folder)
  try {
    // An existing file would keep its mode.
    writeFileSync(page, pageTo(link), { mode: 0o600, flag: 'wx' })
    setTimeout(() => removeSignIn(folder), readWithinMs).unref()
    const { default: open } = await import('open')
    await open(pathToFileURL(page).href)
  } catch {
    // Optional.
  }
}
