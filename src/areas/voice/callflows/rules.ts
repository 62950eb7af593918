import { joinProblems, type Problems, requiredField, wrongFormat } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { oncePer } from '../../../lib/once-per.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import { pathKey } from '../../../lib/property-path.ts'
import type { Numbering } from '../../numbers/phone-numbers/numbering.ts'
import type { CallflowDoc } from './schema.ts'

/** Matches all numbers that no other callflow of the account has. */
export const noMatch = 'no_match'

// A request has at most 64 nested containers, and each step takes two.
const deepest = 25
const maxModules = 500

interface FlowPosition {
  path: string
  depth: number
  step: unknown
}

const childrenOf = ({ path, depth, step }: FlowPosition): FlowPosition[] => {
  const children = memberOf(step, 'children')
  return isObject(children)
    ? Object.entries(children).map(([key, child]) => ({
        path: `${path}.children.${pathKey(key)}`,
        depth: depth + 1,
        step: child,
      }))
    : []
}

const typeProblem = (target: string, value: unknown) => ({
  type: { message: `Value must be of type ${target}`, target, value },
})

const stepProblems = ({ path, step }: FlowPosition): Problems => {
  if (!isObject(step)) return { [path]: typeProblem('object', step) }
  const { module, data, children } = step
  const problems: Problems = {}
  if (module === undefined) Object.assign(problems, requiredField(`${path}.module`, 'module'))
  else if (typeof module !== 'string' || module === '' || module.length > 64)
    problems[`${path}.module`] = typeProblem('string', module)
  if (data !== undefined && !isObject(data)) problems[`${path}.data`] = typeProblem('object', data)
  if (children !== undefined && !isObject(children))
    problems[`${path}.children`] = typeProblem('object', children)
  return problems
}

/** Problems of the steps below the first one, which the schema checks, and of their number. */
export const flowProblems = (flow: unknown): Problems => {
  const problems: Problems = {}
  const waiting: FlowPosition[] = childrenOf({ path: 'flow', depth: 1, step: flow })
  let modules = 1
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    modules += 1
    if (modules > maxModules || place.depth > deepest) {
      const message = `A flow has at most ${maxModules} modules and ${deepest} levels`
      return { flow: { too_large: { message, target: maxModules } } }
    }
    Object.assign(problems, stepProblems(place))
    waiting.push(...childrenOf(place))
  }
  return problems
}

/** The steps of a flow in breadth-first order. Invalid steps are skipped. */
export function* stepsOf(flow: unknown): Generator<{ module: string; data: Json }> {
  const waiting: FlowPosition[] = [{ path: 'flow', depth: 1, step: flow }]
  for (let place = waiting.shift(); place; place = waiting.shift()) {
    const { step } = place
    if (!isObject(step) || typeof step.module !== 'string') continue
    yield { module: step.module, data: isObject(step.data) ? step.data : {} }
    waiting.push(...childrenOf(place))
  }
}

export const modulesOf = (flow: unknown) => [...new Set(Array.from(stepsOf(flow), ({ module }) => module))]

// Modules that refer to one record of the kind with the same name.
const kindsNamed = new Set(['callflow', 'device', 'group', 'user'])
const maxNamed = 100

const namedIn = ({ module, data }: { module: string; data: Json }) => {
  const members = Array.isArray(data.endpoints) ? data.endpoints : []
  const named = [
    { kind: module, id: data.id },
    ...members.map((member) => ({ kind: memberOf(member, 'endpoint_type'), id: memberOf(member, 'id') })),
  ]
  return named.flatMap(({ kind, id }) =>
    typeof kind === 'string' && kindsNamed.has(kind) && typeof id === 'string' ? [{ kind, id }] : [],
  )
}

/** The records that a flow refers to, without repetitions; at most 100. */
export const recordsNamedIn = (flow: unknown) => {
  const all = Array.from(stepsOf(flow)).flatMap(namedIn)
  const named = new Map(all.map((one) => [`${one.kind}/${one.id}`, one]))
  return [...named.values()].slice(0, maxNamed)
}

type Rewrite = (text: string) => string | undefined

const rewriteOf = (regex: string, { prefix, suffix }: Json): Rewrite[] => {
  const { pattern } = compilePattern(regex)
  const [before, after] = [prefix, suffix].map((part) => (typeof part === 'string' ? part : ''))
  if (!pattern) return []
  return [
    (text) => {
      const captured = pattern.lastGroup(text)
      return captured === undefined ? undefined : `${before}${captured}${after}`
    },
  ]
}

// A dial plan is cached until it changes.
const rewritesOf = oncePer((plan: Json): readonly Rewrite[] =>
  Object.entries(plan).flatMap(([regex, rule]) =>
    regex === 'system' || !isObject(rule) ? [] : rewriteOf(regex, rule),
  ),
)

/** A number rewritten by the first matching rule of a dial plan. */
export const completed = (plan: unknown, number: string): string => {
  for (const rewrite of isObject(plan) ? rewritesOf(plan) : []) {
    const found = rewrite(number)
    if (found !== undefined) return found
  }
  return number
}

/** The dial plans that apply, and the numbering of the system. */
interface Dialling {
  plans: readonly unknown[]
  numbering: Pick<Numbering, 'normalize' | 'isReconcilable'>
}

// Shorter numbers without an international prefix are extensions.
const fewestDigits = 10

/** The phone number in the form of the inventory. Undefined: an extension, for example. */
export const phoneNumberIn = (text: string, { plans, numbering }: Dialling): string | undefined => {
  const plain = text.replace(/[\s().-]/g, '')
  if (!/^\+?\d+$/.test(plain)) return undefined
  const dialled = plans.reduce<string>(
    (found, plan) => (found === plain ? completed(plan, plain) : found),
    plain,
  )
  if (!/^(?:\+|00|011)/.test(dialled) && dialled.length < fewestDigits) return undefined
  const number = numbering.normalize(dialled)
  return numbering.isReconcilable(number) ? number : undefined
}

/** The phone numbers among a callflow's numbers, which are already in the form of the inventory. */
export const phoneNumbersAmong = (numbers: readonly string[], numbering: Dialling['numbering']): string[] =>
  numbers.filter((number) => phoneNumberIn(number, { plans: [], numbering }) === number)

/** The numbers of a request in the form that is compared, without repetitions. */
export const tidyNumbers = (numbers: unknown, dialling: Dialling): string[] => {
  const texts = (Array.isArray(numbers) ? numbers : []).filter((text) => typeof text === 'string')
  return [...new Set(texts.map((text) => phoneNumberIn(text, dialling) ?? text.trim()))]
}

/** A callflow that lost its last number, because the account did, may still be changed. */
export const missingNumberProblems = (doc: CallflowDoc, before: CallflowDoc | undefined): Problems => {
  const isEmpty = ({ numbers, patterns }: CallflowDoc) => !numbers?.length && !patterns?.length
  if (!isEmpty(doc) || (before && isEmpty(before))) return {}
  const message = 'Callflows must be assigned at least one number or pattern'
  return { numbers: { required: { message, value: 'numbers' } } }
}

export const patternProblems = ({ patterns = [] }: Pick<CallflowDoc, 'patterns'>): Problems =>
  joinProblems(
    ...patterns.map((pattern, index) => {
      const { problem } = compilePattern(pattern)
      if (problem === undefined) return {}
      return wrongFormat(`patterns.${index}`, 'regex', `The pattern ${problem}`, pattern)
    }),
  )
