const tags = new Set(
  (
    'A ABBR ADDRESS ARTICLE B BLOCKQUOTE BODY BR CENTER CITE CODE COL COLGROUP DD DIV DL DT EM FIGCAPTION FIGURE FONT ' +
    'FOOTER H1 H2 H3 H4 H5 H6 HEAD HEADER HR HTML I IMG LI MAIN MARK OL P PRE Q S SECTION SMALL SPAN STRONG SUB SUP ' +
    'TABLE TBODY TD TFOOT TH THEAD TR TT U UL WBR'
  ).split(' '),
)

const attributes = new Set(
  (
    'align alt bgcolor border cellpadding cellspacing class color colspan dir face height id lang rowspan size src ' +
    'title valign width'
  ).split(' '),
)

// While a page is read under the policy of this one, the browser would complain of the styles and pictures in it.
const sheetTag = 'foreign-sheet'
const styleAttribute = 'data-foreign-style'
const sourceAttribute = 'data-foreign-src'

const withQuietStyles = (html: string) =>
  html
    .replace(/<(\/?)style\b/gi, `<$1${sheetTag}`)
    .replace(/([\s"'/])style(\s*=)/gi, `$1${styleAttribute}$2`)
    .replace(/([\s"'/])src(\s*=)/gi, `$1${sourceAttribute}$2`)

const isOwnImage = (address: string) => /^data:image\/(?:png|jpeg|gif|webp);/i.test(address)

const takeSheets = (page: Document) =>
  [...page.querySelectorAll(sheetTag)].map((sheet) => {
    sheet.remove()
    return sheet.textContent
  })

/** The styles of single elements, as rules: the policy takes styles only from sheets that it knows. */
const takeStyles = (page: Document) =>
  [...page.querySelectorAll(`[${styleAttribute}]`)].map((element, at) => {
    const rule = `[data-rule="${at}"]{${element.getAttribute(styleAttribute) ?? ''}}`
    element.setAttribute('data-rule', String(at))
    return rule
  })

/** A link leads nowhere from here, and says where it would. */
const quieten = (element: Element) => {
  const target = element.getAttribute('href')
  if (target !== null && /^(?:https?|mailto|tel):/i.test(target)) element.setAttribute('title', target)
}

const clean = (element: Element) => {
  if (!tags.has(element.tagName)) return element.remove()
  quieten(element)
  const source = element.getAttribute(sourceAttribute)
  if (source !== null && isOwnImage(source)) element.setAttribute('src', source)
  for (const { name, value } of [...element.attributes]) {
    const isKept = attributes.has(name) || name === 'data-rule'
    if (!isKept || (name === 'src' && !isOwnImage(value))) element.removeAttribute(name)
  }
}

const plainStyle =
  'body{font-family:system-ui,sans-serif;overflow-wrap:anywhere}a{color:#0b62c4;text-decoration:underline}'

/**
 * What somebody else wrote, as a page that runs nothing and loads nothing. It is shown in a frame without any rights all
 * the same: this keeps the browser from having to refuse.
 */
export const harmlessHtml = (html: string, nonce = ''): string => {
  const page = new DOMParser().parseFromString(withQuietStyles(html), 'text/html')
  // No text may end the sheet that it stands in, and no sheet loads anything.
  const styles = [plainStyle, ...takeSheets(page), ...takeStyles(page)]
    .join('\n')
    .replaceAll('<', '\\3c ')
    .replaceAll(/url\s*\(/gi, 'nothing(')
  for (const element of [...page.querySelectorAll('*')]) clean(element)
  const head = `<meta charset="utf-8"><title></title><style nonce="${nonce}">${styles}</style>`
  return `<!DOCTYPE html><html><head>${head}</head>${page.body.outerHTML}</html>`
}
