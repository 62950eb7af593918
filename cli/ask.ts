// Questions to the person at the terminal. They are written to standard error.
import { Interrupted, Mistake, type Terminal } from './terminal.ts'

interface Prompt {
  message: string
  /** The option that answers it without a question. */
  option: string
  initialValue?: string | undefined
}

type Prompts = typeof import('@clack/prompts')

/** Loads the prompts with the first question. */
const ask = async <Answer extends string | boolean>(
  { isAttended }: Terminal,
  { message, option, initialValue }: Prompt,
  prompt: (prompts: Prompts, common: { message: string }) => Promise<Answer | symbol>,
): Promise<Answer> => {
  if (!isAttended) throw new Mistake(`${option} is missing, and there is no terminal to prompt on`)
  const initial = initialValue === undefined ? {} : { initialValue }
  const common = { output: process.stderr, withGuide: false, message, ...initial }
  const answer = await prompt(await import('@clack/prompts'), common)
  // Ctrl-C or Escape.
  if (typeof answer === 'symbol') throw new Interrupted()
  return answer
}

const validate = (value: string | undefined) => (value ? undefined : 'A value is required.')

export const askFor = (terminal: Terminal, question: Prompt) =>
  ask<string>(terminal, question, ({ text }, common) => text({ ...common, validate }))

export const askHidden = (terminal: Terminal, question: Prompt) =>
  ask<string>(terminal, question, ({ password }, common) => password({ ...common, validate }))

export const askWhether = (terminal: Terminal, question: Prompt) =>
  ask<boolean>(terminal, question, ({ confirm }, common) => confirm({ ...common, initialValue: false }))
