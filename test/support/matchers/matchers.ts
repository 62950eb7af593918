import { expect } from 'vitest'
import type { Answer } from '../world/client.ts'

interface AnswerMatchers<R = unknown> {
  /** A success whose data is exactly this; 201 for PUT, 200 for others, unless a status is given. */
  toSucceedWith(data: unknown, status?: number): R
  /** A success, whatever its data. */
  toSucceed(status?: number): R
  /** A failure with this status and message and, when given, exactly this data. */
  toFailWith(status: number, message: string, data?: unknown): R
  /** A 400 with exactly these rules broken: `{ 'caller_id.name': ['maxLength'] }`. */
  toBreak(rules: Record<string, string[]>): R
}

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown>
    extends AnswerMatchers<R> {}
}

const told = ({ request, status, text }: Answer) =>
  `${request.method} ${request.path} answered ${status}:\n${text.slice(0, 4000)}`

const usualStatus = ({ request }: Answer) => (request.method === 'PUT' ? 201 : 200)

const brokenRules = (data: Record<string, object>) =>
  Object.fromEntries(Object.entries(data).map(([path, rules]) => [path, Object.keys(rules).sort()]))

expect.extend({
  toSucceedWith(answer: Answer, data: unknown, status = usualStatus(answer)) {
    const pass = answer.status === status && this.equals(answer.data, data)
    return {
      pass,
      message: () => `expected a ${status} with other data; ${told(answer)}`,
      actual: { status: answer.status, data: answer.data },
      expected: { status, data },
    }
  },

  toSucceed(answer: Answer, status = usualStatus(answer)) {
    return { pass: answer.status === status, message: () => `expected a ${status}; ${told(answer)}` }
  },

  toFailWith(answer: Answer, status: number, message: string, data?: unknown) {
    const sameData = data === undefined || this.equals(answer.data, data)
    return {
      pass: answer.status === status && answer.body.message === message && sameData,
      message: () => `expected a ${status} '${message}'; ${told(answer)}`,
      actual: { status: answer.status, message: answer.body.message, ...(data ? { data: answer.data } : {}) },
      expected: { status, message, ...(data ? { data } : {}) },
    }
  },

  toBreak(answer: Answer, rules: Record<string, string[]>) {
    const isRefusal = answer.status === 400 && answer.body.message === 'validation error'
    const broken = isRefusal ? brokenRules(answer.data) : {}
    return {
      pass: isRefusal && this.equals(broken, rules),
      message: () => `expected other broken rules; ${told(answer)}`,
      actual: broken,
      expected: rules,
    }
  },
})
