// Documents as FreeSWITCH reads them. Each element stands on a line of its own: FreeSWITCH leaves out lines in which it
// takes something for an order.

/** An element with its attributes and what stands in it. */
export interface Element {
  name: string
  attributes?: Readonly<Record<string, string>>
  children?: readonly Element[]
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** What XML 1.0 cannot say at all is left out; line ends would be read as spaces. */
const escaped = (text: string) =>
  text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[&<>"']/g, (sign) => references[sign] ?? '')

const lines = ({ name, attributes = {}, children = [] }: Element, indent: string): string[] => {
  const said = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const opening = `${indent}<${name}${said.join('')}`
  if (children.length === 0) return [`${opening}/>`]
  return [`${opening}>`, ...children.flatMap((child) => lines(child, `${indent}  `)), `${indent}</${name}>`]
}

const documentOf = (section: string, child: Element) =>
  `${lines(
    {
      name: 'document',
      attributes: { type: 'freeswitch/xml' },
      children: [{ name: 'section', attributes: { name: section }, children: [child] }],
    },
    '',
  ).join('\n')}\n`

/** FreeSWITCH looks on in its own files. */
export const notFound = documentOf('result', { name: 'result', attributes: { status: 'not found' } })

export const directoryDocument = (domain: Element) => documentOf('directory', domain)

export const dialplanDocument = (context: Element) => documentOf('dialplan', context)
