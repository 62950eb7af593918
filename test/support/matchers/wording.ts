// Turns of phrase that make a reader stop, and the texts of the repository that they are looked for in.
import { readSource } from './source-text.ts'

export type Kind = 'documents' | 'comments' | 'messages' | 'screens' | 'configuration' | 'tests'

export interface Text {
  kind: Kind
  path: string
  line: number
  text: string
}

/** A line with this mark is right as it is. */
const exempt = 'words-ok'

const verbsOfState = 'is|are|was|were|has|have|had|goes|stays|holds|comes|waits|gets|needs|counts|costs'
const things =
  'they|that|which|there|to|may|can|must|records?|names?|accounts?|rows?|lines?|entries|values|numbers|files|what|do not'
const speakers =
  'server|plan|settings?|request|answer|document|record|environment|account|system|body|header|page|file|reseller|carrier|DNS|database|which|it|what|that'

export const patterns: Readonly<Record<string, RegExp>> = {
  whoever: /\bwho(?:ever|mever|soever)\b/i,
  'at hand': /\bat hand\b/i,
  'of its own': /\bof (?:its|their|his|her|your|my|one's|[a-z]+['’]s) own\b/i,
  stands: new RegExp(
    String.raw`(?<!-)\b(?:stands|stood)\b(?! (?:for|in for|by)\b)|\b(?:${things}) stand\b(?! (?:for|in for|by|alone)\b)`,
    'i',
  ),
  'a sentence that starts with Of': /(?:^|[.!?] )Of (?!course\b)[a-z]+/,
  'a clause as a subject': new RegExp(
    String.raw`(?:^|[.!?] )(?:What|Who|Whom|Whose) [^.?!]{2,110}[a-z] (?:${verbsOfState}) [^?!]*(?:\.|$)`,
  ),
  'is told':
    /\b(?:is|are|was|were|be|been|being) (?:(?:not|never|also|then|only|once|all) )?told\b|\btold (?:of|apart)\b|\buntold\b/i,
  tells: /\btells\b/i,
  'held against': /\bh(?:eld|olds?|olding) (?:[^.,;]{1,40} )?against\b/i,
  'holds until': /\bholds? (?:for|until|till|then|in place|instead|again|everywhere)\b/i,
  nobody: /\b(?:no|some|any|every)body\b/i,
  'made up': /\bma(?:de|ke|kes|king)[ -]up\b/i,
  'goes on': /\b(?:go|goes|going|went) on\b(?! (?:to|sale)\b)/i,
  judges: /\bjudg(?:e|es|ed|ing|ement)\b/i,
  'in place of': /\bin (?:the )?place of\b/i,
  'under way': /\bunder way\b/i,
  'those who': /\b(?:those|he|for|of|by|with|than) who (?!was\b)[a-z]+/i,
  'by whom': /\b(?:by|of|to|for|from|with|under|above|below) whom\b/i,
  lies: /\blies\b|\b(?:they|that|which|rows|files|records|to|may|can) lie\b/i,
  'by itself': /\bby (?:itself|themselves)\b/i,
  'old words':
    /\banew\b|\bmeanwhile\b|\bafresh\b|\bthereupon\b|\bto be had\b|\bcan(?:not)? be had\b|\bpass(?:es|ed|ing)? over\b|, for (?:it|they|there|he|she|nobody|nothing|no|others|then|that) [a-z]+/i,
  'nothing but': /\b(?:nothing|nobody|none|no [a-z]+|everything|everybody|all) but\b/i,
  'becomes of': /\bbec(?:ame|ome|omes) of\b|\bcomes? to (?:stand|lie)\b/i,
  'a thing that says': new RegExp(String.raw`\b(?:${speakers}) says\b`, 'i'),
  'is said': /\b(?:is|are|was|were|be) (?:(?:not|never|also|once) )?said\b/i,
  'so many': /\b(?:so many|for so long|so long(?! as)|so much)\b(?! (?:that|as)\b)/i,
  heard: /\bunheard\b|\bheard (?:of|from|nothing)\b|\bhears? (?:of|from|how|nothing)\b|\bbeen heard\b/i,
  beside: /\bbeside\b/i,
  'any more': /\bany more\b/i,
  metaphors:
    /\b(?:house|witness|foresight|couriers?|parcels?|post office|acquaintances?|laid (?:row|down)|shelf|shelves|doorway|sip town)\b(?! number)/i,
}

const sql = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|COPY)\b/

/** Code in a sentence is not checked. */
const withoutCode = (text: string) => text.replace(/`[^`]*`/g, '')

const textsOfMarkdown = (path: string, text: string): Text[] => {
  let isCode = false
  return text.split('\n').flatMap((line, at) => {
    if (/^\s*```/.test(line)) isCode = !isCode
    return isCode ? [] : [{ kind: 'documents' as const, path, line: at + 1, text: line }]
  })
}

const hashComments = (path: string, text: string): Text[] =>
  text.split('\n').flatMap((line, at) => {
    const comment = /(?:^|\s)(?:#|\/\/) (.*)$/.exec(line)?.[1]
    return comment ? [{ kind: 'configuration' as const, path, line: at + 1, text: comment }] : []
  })

const textsOfScreens = (path: string, text: string): Text[] =>
  text.split('\n').flatMap((line, at) => {
    const value = /^\s*"[^"]*": "(.*)",?$/.exec(line)?.[1]
    return value ? [{ kind: 'screens' as const, path, line: at + 1, text: value }] : []
  })

const isTest = (path: string) => /^(?:test|bench|attack)\//.test(path)

const textsOfCode = (path: string, source: string): Text[] => {
  const { comments, literals } = readSource(path, source)
  const lines: number[] = []
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) lines.push(at)
  const lineOf = (start: number) => {
    const before = lines.findIndex((end) => end >= start)
    return (before < 0 ? lines.length : before) + 1
  }
  const texts = literals
    .filter(({ text }) => text.includes(' ') && !sql.test(text))
    .map(({ start, text }) => ({
      kind: isTest(path) ? ('tests' as const) : ('messages' as const),
      path,
      line: lineOf(start),
      text,
    }))
  const remarks: Text[] = []
  for (const { start, text } of comments) {
    const line = lineOf(start)
    const plain = text.replace(/^\/[/*]+|\*\/$/g, '').replace(/\n\s*\*?/g, ' ')
    const before = remarks.at(-1)
    const isContinued = before !== undefined && text.startsWith('//') && before.line === line - 1
    if (isContinued) remarks.splice(-1, 1, { ...before, line, text: `${before.text}${plain}` })
    else remarks.push({ kind: 'comments', path, line, text: plain.trim() })
  }
  return [...texts, ...remarks]
}

/** What a person reads in a file: sentences of documents, comments, messages, screens, configuration and tests. */
export const textsOf = (path: string, text: string): Text[] => {
  if (path.endsWith('.md')) return textsOfMarkdown(path, text)
  if (/^console\/texts\/en\.json$/.test(path)) return textsOfScreens(path, text)
  if (/\.(?:ts|tsx|mjs)$/.test(path)) return textsOfCode(path, text)
  return /\.(?:cfg|conf|ya?ml|sh|service|local|example)$|Dockerfile$|Caddyfile$/.test(path)
    ? hashComments(path, text)
    : []
}

/** Which pattern a text matches, with what it matches. */
export const findTurns = ({ text }: Text) =>
  text.includes(exempt)
    ? []
    : Object.entries(patterns).flatMap(([name, pattern]) => {
        const found = pattern.exec(withoutCode(text))
        return found ? [{ name, words: found[0] }] : []
      })
