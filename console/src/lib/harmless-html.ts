import DOMPurify, { type Config } from 'dompurify'

// While a page is read under the policy of this one, the browser would complain of the styles and pictures in it.
const sheetTag = 'foreign-sheet'
const styleAttribute = 'data-foreign-style'
const sourceAttribute = 'data-foreign-src'

const withQuietStyles = (html: string) =>
  html
    .replace(/<(\/?)style\b/gi, `<$1${sheetTag}`)
    .replace(/([\s"'/])style(\s*=)/gi, `$1${styleAttribute}$2`)
    .replace(/([\s"'/])src(\s*=)/gi, `$1${sourceAttribute}$2`)

/** Elements of emails and welcome texts: text and tables. No input, media or embedding. */
const allowed = {
  ALLOWED_TAGS: [
    ...'a abbr address article b blockquote body br center cite code col colgroup dd div dl dt em figcaption'.split(
      ' ',
    ),
    ...'figure font footer h1 h2 h3 h4 h5 h6 head header hr html i img li main mark ol p pre q s section'.split(
      ' ',
    ),
    ...'small span strong sub sup table tbody td tfoot th thead tr tt u ul wbr'.split(' '),
    sheetTag,
  ],
  // Those whose names begin with `data-` are let through besides, whatever they hold.
  ALLOWED_ATTR: [
    ...'align alt bgcolor border cellpadding cellspacing class color colspan dir face height href id lang'.split(
      ' ',
    ),
    ...'rowspan size title valign width'.split(' '),
  ],
  WHOLE_DOCUMENT: true,
  RETURN_DOM_FRAGMENT: true,
} as const satisfies Config

const takeSheets = (page: ParentNode) =>
  [...page.querySelectorAll(sheetTag)].map((sheet) => {
    sheet.remove()
    return sheet.textContent
  })

/** The styles of single elements, as rules: the policy takes styles only from sheets that it knows. */
const takeStyles = (page: ParentNode) =>
  [...page.querySelectorAll(`[${styleAttribute}]`)].map((element, at) => {
    const rule = `[data-rule="${at}"]{${element.getAttribute(styleAttribute) ?? ''}}`
    element.removeAttribute(styleAttribute)
    element.setAttribute('data-rule', String(at))
    return rule
  })

const isOwnImage = (address: string) => /^data:image\/(?:png|jpeg|gif|webp);/i.test(address)

/** Pictures that the page brings along are shown; nothing is fetched, which would tell when it was read. */
const showOwnImages = (page: ParentNode) => {
  for (const element of page.querySelectorAll(`[${sourceAttribute}]`)) {
    const source = element.getAttribute(sourceAttribute) ?? ''
    element.removeAttribute(sourceAttribute)
    if (isOwnImage(source)) element.setAttribute('src', source)
  }
}

/** A link leads nowhere from here, and says where it would. */
const quietenLinks = (page: ParentNode) => {
  for (const link of page.querySelectorAll('[href]')) {
    const target = link.getAttribute('href') ?? ''
    link.removeAttribute('href')
    if (/^(?:https?|mailto|tel):/i.test(target)) link.setAttribute('title', target)
  }
}

const plainStyle =
  'body{font-family:system-ui,sans-serif;overflow-wrap:anywhere}a{color:#0b62c4;text-decoration:underline}'

// Text cannot close its style sheet, and no sheet loads anything.
const quietened = (styles: string) =>
  styles
    .replaceAll('<', '\\3c ')
    .replaceAll(/url\s*\(/gi, 'nothing(')
    .replaceAll(/@import/gi, '@nothing')

/**
 * HTML of other users as a page without scripts and external resources. The frame has no permissions anyway;
 * this avoids browser warnings.
 */
export const harmlessHtml = (html: string, nonce = ''): string => {
  const page = DOMPurify.sanitize(withQuietStyles(html), allowed)
  const styles = quietened([plainStyle, ...takeSheets(page), ...takeStyles(page)].join('\n'))
  showOwnImages(page)
  quietenLinks(page)
  const head = `<meta charset="utf-8"><title></title><style nonce="${nonce}">${styles}</style>`
  const body = page.querySelector('body')?.outerHTML ?? ''
  return `<!DOCTYPE html><html><head>${head}</head>${body}</html>`
}
