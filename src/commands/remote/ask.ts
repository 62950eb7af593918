// Questions to the person at the terminal, beside the result: they stand on standard error.
import { Interrupted, Mistake, type Terminal } from './terminal.ts'

/** Loaded with the first question. */
const prompts = async (terminal: Terminal, what: string) => {
  if (!terminal.isAttended) throw new Mistake(`${what} is missing, and there is no terminal to ask at`)
  const { text, password, confirm } = await import('@clack/prompts')
  return { text, password, confirm, options: { output: process.stderr, withGuide: false } }
}

const isThere = (value: string | undefined) => (value ? undefined : 'This is needed.')

interface Question {
  message: string
  /** How it is said without a question. */
  option: string
  initialValue?: string | undefined
}

export const askFor = async (terminal: Terminal, { message, option, initialValue }: Question) => {
  const { text, options } = await prompts(terminal, option)
  const initial = initialValue === undefined ? {} : { initialValue }
  const answer = await text({ ...options, ...initial, message, validate: isThere })
  // Ctrl-C or Escape.
  if (typeof answer === 'symbol') throw new Interrupted()
  return answer
}

export const askHidden = async (terminal: Terminal, { message, option }: Question) => {
  const { password, options } = await prompts(terminal, option)
  const answer = await password({ ...options, message, validate: isThere })
  if (typeof answer === 'symbol') throw new Interrupted()
  return answer
}

export const askWhether = async (terminal: Terminal, { message, option }: Question) => {
  const { confirm, options } = await prompts(terminal, option)
  const answer = await confirm({ ...options, message, initialValue: false })
  if (typeof answer === 'symbol') throw new Interrupted()
  return answer
}
