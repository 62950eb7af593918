// Reads documents like FreeSWITCH: it rejects invalid XML, finds directives and parses the dial strings of `bridge`. Based on
// the FreeSWITCH documentation, not on the code that writes them.

export interface Read {
  name: string
  attributes: Record<string, string>
  children: Read[]
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const plain = (raw: string) => {
  const text = raw.replace(/&(\w+);/g, (_whole, name: string) => {
    const sign = entities[name]
    if (sign === undefined) throw new Error(`there is no entity ${name}`)
    return sign
  })
  if (/&(?!\w+;)/.test(raw) || raw.includes('<')) throw new Error(`a bare sign in ${raw}`)
  return text
}

const tag = /\s*<(\/?)([a-z][a-z-]*)((?:\s+[a-z][a-z0-9-]*="[^"<]*")*)\s*(\/?)>/y

/** The one element of a document; anything that is not well-formed throws. */
export const readXml = (text: string): Read => {
  const top: Read = { name: '', attributes: {}, children: [] }
  const open = [top]
  tag.lastIndex = 0
  while (text.slice(tag.lastIndex).trim() !== '') {
    const at = tag.lastIndex
    const [, closes, name = '', said = '', isEmpty] = tag.exec(text) ?? []
    if (name === '') throw new Error(`no element at ${at}: ${text.slice(at, at + 80)}`)
    const current = open.at(-1) as Read
    if (closes === '/') {
      if (current.name !== name || open.length === 1)
        throw new Error(`${name} ends where ${current.name} does`)
      open.pop()
      continue
    }
    const pairs = [...said.matchAll(/([a-z][a-z0-9-]*)="([^"]*)"/g)]
    const attributes = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, plain(value)]))
    if (Object.keys(attributes).length !== pairs.length) throw new Error(`${name} says something twice`)
    const element: Read = { name, attributes, children: [] }
    current.children.push(element)
    if (isEmpty !== '/') open.push(element)
  }
  const [only, ...others] = top.children
  if (open.length !== 1 || !only || others.length > 0) throw new Error('this is not one element')
  return only
}

/** Every element of a document. */
const all = (element: Read): Read[] => [element, ...element.children.flatMap(all)]

/** Preprocessing of XML by FreeSWITCH: it inserts variables and runs directives. */
export const hasOrders = (text: string) =>
  text.includes('$${') || /x-pre-process|<include>|<\?|<!/i.test(text)

export const actionsIn = (text: string) =>
  all(readXml(text))
    .filter(({ name }) => name === 'action')
    .map(({ attributes: { application = '', data = '' } }) => [application, data] as const)

export interface Leg {
  variables: Record<string, string>
  endpoint: string
}

/** The legs of a dial string: commas separate legs, and brackets hold the variables of one leg. */
export const legsIn = (dialled: string): Leg[] => {
  if (/:_:|^[{<]/.test(dialled)) throw new Error(`several are dialled in separate threads: ${dialled}`)
  const legs: Leg[] = []
  const leg = /\[([^\]]*)\]([^,]+)(?:,(?=\[)|$)/y
  while (leg.lastIndex < dialled.length) {
    const at = leg.lastIndex
    const [, said = '', endpoint = ''] = leg.exec(dialled) ?? []
    if (endpoint === '') throw new Error(`no leg at ${at}: ${dialled}`)
    if (/['"\\{}]/.test(said)) throw new Error(`what FreeSWITCH would take for more than text: ${said}`)
    const pairs = said.split(',').map((pair) => {
      const mark = pair.indexOf('=')
      if (mark <= 0) throw new Error(`no variable: ${pair}`)
      return [pair.slice(0, mark), pair.slice(mark + 1)]
    })
    legs.push({ variables: Object.fromEntries(pairs), endpoint })
  }
  return legs
}
