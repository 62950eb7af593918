import type { Assets } from './assets.ts'
import { escapeHtml } from './html.ts'
import type { Heading } from './markdown.ts'
import type { NavigationGroup } from './navigation.ts'
import { relativeUrl } from './sources.ts'

export interface Page {
  path: string
  title: string
  html: string
  headings: readonly Heading[]
  /** Additional scripts and styles of the page. */
  entry?: 'reference'
}

interface Around {
  navigation: readonly NavigationGroup[]
  assets: Assets
  searchIndex: string
  /** The path of the console relative to the site; undefined without a console. */
  consolePath: string | undefined
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%231c5fc4'/%3E%3Cpath d='M8 8l16 16M24 8L8 24' stroke='%23fff' stroke-width='4' stroke-linecap='round'/%3E%3C/svg%3E"

const linkTo = (from: string, page: string, text: string) => {
  const current = from === page ? ' aria-current="page"' : ''
  return `<a href="${relativeUrl(from, page)}"${current}>${escapeHtml(text)}</a>`
}

const navigationHtml = (groups: readonly NavigationGroup[], path: string) =>
  groups
    .map(({ title, links, isFolded }) => {
      const items = links.map(({ text, page }) => `<li>${linkTo(path, page, text)}</li>`).join('\n')
      const isOpen = !isFolded || links.some(({ page }) => page === path)
      return `<details${isOpen ? ' open' : ''}><summary>${escapeHtml(title)}</summary>\n<ul>\n${items}\n</ul></details>`
    })
    .join('\n')

const contentsHtml = (headings: readonly Heading[]) => {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ level, id, text }) =>
      `<li class="level-${level}"><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" aria-label="On this page" tabindex="0"><p>On this page</p><ul>\n${items.join('\n')}\n</ul></nav>`
}

const neighboursHtml = (groups: readonly NavigationGroup[], path: string) => {
  const links = groups.flatMap(({ links: inGroup }) => inGroup)
  const at = links.findIndex(({ page }) => page === path)
  const before = at > 0 ? links[at - 1] : undefined
  const after = at >= 0 ? links[at + 1] : undefined
  const shown = [
    before && `<span>Before: ${linkTo(path, before.page, before.text)}</span>`,
    after && `<span>Next: ${linkTo(path, after.page, after.text)}</span>`,
  ].filter((link) => link !== undefined)
  return shown.length === 0 ? '' : `<nav class="neighbours" aria-label="Neighbours">${shown.join('\n')}</nav>`
}

export const pageHtml = (page: Page, { navigation, assets, searchIndex, consolePath }: Around) => {
  const { path, title, html, headings, entry } = page
  const url = (file: string) => relativeUrl(path, file)
  const entries = entry === undefined ? ['site' as const] : ['site' as const, entry]
  const styles = entries.flatMap((name) => assets[name].styles)
  const scripts = entries.map((name) => assets[name].script)
  const toConsole = consolePath === undefined ? '' : `<a href="${url(consolePath)}">Console</a>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Crosspoint</title>
<link rel="icon" href="${icon}">
<script src="${url(assets.theme.script)}"></script>
${styles.map((style) => `<link rel="stylesheet" href="${url(style)}">`).join('\n')}
${scripts.map((script) => `<script type="module" src="${url(script)}"></script>`).join('\n')}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" class="menu" id="menu" aria-expanded="false" aria-controls="navigation">Menu</button>
${linkTo(path, 'index.html', 'Crosspoint')}
<nav aria-label="Site">${linkTo(path, 'api/index.html', 'API')}${toConsole}</nav>
<button type="button" id="search" data-index="${url(searchIndex)}" data-top="${url('index.html')}" aria-keyshortcuts="/">Search</button>
<button type="button" id="theme">Dark</button>
</header>
<div class="columns">
<nav class="pages" id="navigation" aria-label="Pages">
${toConsole}
${navigationHtml(navigation, path)}
</nav>
<main id="content" tabindex="-1">
${html}
${neighboursHtml(navigation, path)}
</main>
${contentsHtml(headings)}
</div>
</body>
</html>
`
}
