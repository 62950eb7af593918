// Reads a source file just well enough to tell code, comments and texts apart and to list its imports.
import { posix } from 'node:path'

export interface Literal {
  start: number
  /** For a template: its chunks, with `?` for each inserted expression. */
  text: string
}

export interface Import {
  line: number
  /** Path from the root of the repository when the import is relative, else the package's name. */
  target: string
  isTypeOnly: boolean
  /** Names between the braces that are values, as the other file calls them. */
  valueNames: string[]
}

export interface SourceFile {
  path: string
  /** As long as the file, line for line; comments and the insides of texts are blank. */
  code: string
  literals: Literal[]
  /** With their marks; several lines that begin with // are several comments. */
  comments: Literal[]
  imports: Import[]
}

interface Template {
  literal: Literal
  openBraces: number
}

interface Scan {
  text: string
  at: number
  code: string
  literals: Literal[]
  comments: Literal[]
  templates: Template[]
}

const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|[\w$]+|[\s\S]/y
const templateChunk = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
const endsBeforeExpression = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield))$/
const wordLength = 10
const importWithNames = /\b(?:import|export)\b((?:(?!\b(?:import|export)\b)[\w$\s{},*])*?)\bfrom\s*(?=['"])/g
const importOfModule = /\bimport\s*\(?\s*(?=['"`])/g

const blank = (text: string) => text.replace(/[^\n]/g, ' ')

const match = (pattern: RegExp, { text, at }: Scan) => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

const take = (scan: Scan, length: number, code: string) => {
  scan.at += length
  scan.code += code
}

const takeTemplateChunk = (scan: Scan, template: Template) => {
  const chunk = match(templateChunk, scan)
  template.literal.text += chunk
  take(scan, chunk.length, blank(chunk))
  if (scan.text.startsWith('${', scan.at)) {
    template.literal.text += '?'
    take(scan, 2, '${')
  } else {
    scan.templates.pop()
    take(scan, 1, '`')
  }
}

const startTemplate = (scan: Scan) => {
  const literal = { start: scan.at, text: '' }
  const template = { literal, openBraces: 0 }
  scan.literals.push(literal)
  scan.templates.push(template)
  take(scan, 1, '`')
  takeTemplateChunk(scan, template)
}

const takeBrace = (scan: Scan, brace: string) => {
  const template = scan.templates.at(-1)
  take(scan, 1, brace)
  if (!template) return
  if (brace === '{') template.openBraces += 1
  else if (template.openBraces > 0) template.openBraces -= 1
  else takeTemplateChunk(scan, template)
}

const takeText = (scan: Scan, quoted: string) => {
  const text = quoted.slice(1, -1)
  scan.literals.push({ start: scan.at, text })
  take(scan, quoted.length, `${quoted[0]}${blank(text)}${quoted[0]}`)
}

const takeSlash = (scan: Scan) => {
  const before = scan.code.trimEnd().slice(-wordLength)
  const expression = endsBeforeExpression.test(before) ? match(regularExpression, scan) : ''
  if (expression) take(scan, expression.length, blank(expression))
  else take(scan, 1, '/')
}

const takeComment = (scan: Scan, text: string) => {
  scan.comments.push({ start: scan.at, text })
  take(scan, text.length, blank(text))
}

const takeToken = (scan: Scan) => {
  const found = match(token, scan)
  if (found.startsWith('//') || found.startsWith('/*')) takeComment(scan, found)
  else if (found === '`') startTemplate(scan)
  else if (found === '{' || found === '}') takeBrace(scan, found)
  else if (found === '/') takeSlash(scan)
  else if (found.length > 1 && /^['"]/.test(found)) takeText(scan, found)
  else take(scan, found.length, found)
}

/** The number, from 1, of the line that holds this position. */
export const lineAt = (text: string, position: number) => text.slice(0, position).split('\n').length

const isTypeOnly = (clause: string) => {
  if (/^type\s+\S/.test(clause)) return true
  const names = /^\{([^}]*)\}$/
    .exec(clause)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '')
  return names?.every((name) => /^\s*type\s/.test(name)) ?? false
}

const valueNames = (clause: string) => {
  if (isTypeOnly(clause)) return []
  const names = /\{([^}]*)\}/.exec(clause)?.[1]?.split(',') ?? []
  return names
    .filter((name) => /^\s*(?!type\s)[\w$]/.test(name))
    .map((name) => name.trim().split(/\s/)[0] as string)
}

const targetOf = (path: string, specifier: string) =>
  specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier

const findImports = (path: string, { code, literals }: Scan) => {
  const found = [...code.matchAll(importWithNames), ...code.matchAll(importOfModule)]
  return found.flatMap((statement): Import[] => {
    const specifier = literals.find(({ start }) => start === statement.index + statement[0].length)
    if (!specifier) return []
    const clause = statement[1]?.trim() ?? ''
    const names = { isTypeOnly: isTypeOnly(clause), valueNames: valueNames(clause) }
    return [{ line: lineAt(code, statement.index), target: targetOf(path, specifier.text), ...names }]
  })
}

export const readSource = (path: string, text: string): SourceFile => {
  const scan: Scan = { text, at: 0, code: '', literals: [], comments: [], templates: [] }
  while (scan.at < text.length) takeToken(scan)
  const { code, literals, comments } = scan
  return { path, code, literals, comments, imports: findImports(path, scan) }
}
