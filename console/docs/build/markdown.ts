import { posix } from 'node:path'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import MarkdownIt, { type Token } from 'markdown-it'
import { escapeHtml } from './html.ts'
import { relativeUrl, type Sources } from './sources.ts'

hljs.registerLanguage('sh', bash)
hljs.registerLanguage('js', javascript)
hljs.registerLanguage('ts', typescript)
hljs.registerLanguage('json', json)
hljs.registerLanguage('sql', sql)
hljs.registerLanguage('xml', xml)

export interface Heading {
  level: number
  id: string
  text: string
}

/** The text below one heading, for the search. */
export interface Section {
  heading: Heading
  text: string
}

export interface Rendered {
  html: string
  title: string
  headings: readonly Heading[]
  sections: readonly Section[]
}

/** The anchors that GitHub gives headings, so that links between pages hold in both places. */
const createSlugs = () => {
  const taken = new Map<string, number>()
  return (text: string) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-')
    const before = taken.get(slug)
    taken.set(slug, (before ?? 0) + 1)
    return before === undefined ? slug : `${slug}-${before}`
  }
}

const plainText = (token: Token | undefined): string =>
  (token?.children ?? [])
    .map((child) => (child.type === 'softbreak' || child.type === 'hardbreak' ? ' ' : child.content))
    .join('')

const highlight = (text: string, language: string) =>
  hljs.getLanguage(language) ? hljs.highlight(text, { language }).value : escapeHtml(text)

const isElsewhere = (href: string) => /^[a-z]+:/i.test(href)

interface Place {
  /** The path of the text in the repository. */
  source: string
  /** The path of the page in the site. */
  page: string
}

interface Known {
  sources: Sources
  /** Where `openapi.json` is, seen from the top of the site. */
  openApiPath: string
}

/** Where a picture of the repository is in the site, as a page has to write it. */
const pictureOf = (src: string, { source, page }: Place) => {
  const picture = posix.join(posix.dirname(source), src)
  return relativeUrl(page, posix.relative('docs', picture))
}

/** Where a link of a page leads in the site; undefined: to a file that the site does not contain. */
const targetOf = (href: string, { source, page }: Place, { sources, openApiPath }: Known) => {
  if (isElsewhere(href) || href.startsWith('#')) return href
  const [path = '', anchor] = href.split('#')
  const named = posix.join(posix.dirname(source), path).replace(/\/$/, '')
  const found = sources.get(named)
  if (named === 'openapi.json') return relativeUrl(page, openApiPath)
  return found && `${relativeUrl(page, found)}${anchor === undefined ? '' : `#${anchor}`}`
}

const withLinks = (tokens: readonly Token[], place: Place, known: Known) => {
  for (const inline of tokens) {
    const children = inline.children ?? []
    for (const [index, token] of children.entries()) {
      if (token.type === 'image') token.attrSet('src', pictureOf(String(token.attrGet('src') ?? ''), place))
      if (token.type !== 'link_open') continue
      const href = String(token.attrGet('href') ?? '')
      const target = targetOf(href, place, known)
      if (target === undefined) {
        const end = children.slice(index).find(({ type }) => type === 'link_close')
        for (const half of [token, end]) if (half) half.tag = 'span'
        token.attrs = [['title', posix.join(posix.dirname(place.source), href)]]
      } else token.attrSet('href', target)
    }
  }
}

const headingsOf = (tokens: readonly Token[]) => {
  const slug = createSlugs()
  const found = new Map<Token, Heading>()
  tokens.forEach((token, index) => {
    if (token.type !== 'heading_open') return
    const text = plainText(tokens[index + 1])
    const id = slug(text)
    token.attrSet('id', id)
    found.set(token, { level: Number(token.tag.slice(1)), id, text })
  })
  return found
}

const sectionsOf = (tokens: readonly Token[], headings: ReadonlyMap<Token, Heading>): Section[] => {
  const sections: { heading: Heading; parts: string[] }[] = []
  let isTitle = false
  for (const token of tokens) {
    const heading = headings.get(token)
    if (heading) sections.push({ heading, parts: [] })
    isTitle = heading !== undefined || (isTitle && token.type !== 'heading_close')
    if (isTitle) continue
    if (token.type === 'inline') sections.at(-1)?.parts.push(plainText(token))
    if (token.type === 'fence') sections.at(-1)?.parts.push(token.content)
  }
  return sections.map(({ heading, parts }) => ({ heading, text: parts.join(' ') }))
}

const createParser = () => {
  const parser = new MarkdownIt({ html: false, linkify: false })
  const { rules } = parser.renderer
  // Wide ones scroll in themselves, also by keyboard.
  rules.table_open = () => '<div class="scrolls" tabindex="0" role="group" aria-label="Table"><table>\n'
  rules.table_close = () => '</table></div>\n'
  // A column without a name has no heading.
  rules.th_open = (tokens, index, options, _env, self) => {
    const open = tokens[index]
    if (open && tokens[index + 1]?.content === '') open.tag = 'td'
    return self.renderToken(tokens, index, options)
  }
  rules.th_close = (tokens, index) => (tokens[index - 1]?.content === '' ? '</td>' : '</th>')
  rules.fence = (tokens, index) => {
    const { content = '', info = '' } = tokens[index] ?? {}
    const shown = highlight(content, info.trim())
    return `<div class="code"><pre tabindex="0"><code>${shown}</code></pre></div>\n`
  }
  rules.heading_close = (tokens, index) => {
    const open = tokens[index - 2]
    const id = String(open?.attrGet('id') ?? '')
    const label = escapeHtml(`Link to: ${plainText(tokens[index - 1])}`)
    const link = `<a class="anchor" href="#${escapeHtml(id)}" aria-label="${label}">#</a>`
    return `${open?.tag === 'h1' ? '' : link}</${open?.tag}>\n`
  }
  return parser
}

const parser = createParser()

/** Renders a text that is not a page, such as a description. */
export const renderText = (text: string) => parser.render(text)

/** The same within a line. */
export const renderLine = (text: string) => parser.renderInline(text)

const comment = /^<!--([\s\S]*?)-->\n/gm

/** Words of `<!-- search: … -->`: what people type who look for the page, and what it does not contain. */
const searchWordsOf = (text: string) =>
  [...text.matchAll(comment)]
    .flatMap(([, inside = '']) => /^ search: (.*) $/.exec(inside)?.[1] ?? [])
    .join(' ')

export const renderPage = (text: string, place: Place, known: Known): Rendered => {
  const tokens = parser.parse(text.replaceAll(comment, ''), {})
  const headings = headingsOf(tokens)
  const [first, ...others] = sectionsOf(tokens, headings)
  const sections = first ? [{ ...first, text: `${first.text} ${searchWordsOf(text)}` }, ...others] : []
  withLinks(tokens, place, known)
  const title = [...headings.values()].find(({ level }) => level === 1)?.text ?? place.page
  return {
    html: parser.renderer.render(tokens, parser.options, {}),
    title,
    headings: [...headings.values()],
    sections,
  }
}
