// Results go to standard output, everything else to standard error.
import { styleText } from 'node:util'
import { status } from '../src/commands/statuses.ts'

type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** Part of the result; waits for a slow reader. */
  print(text: string): Promise<void>
  /** Prints a file; a terminal gets text without control characters only. */
  file(chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** Writes a line to standard error. */
  printError(text: string): void
  /** Plain without a terminal or with NO_COLOR. */
  paint(style: Style, text: string): string
  paintError(style: Style, text: string): string
  /** Undefined: not a terminal, nothing is cut. */
  columns: number | undefined
  /** Whether a prompt is possible. */
  isAttended: boolean
  /** Printed when Ctrl-C ends the command. */
  lastWords(text: string): void
}

/** The user has cancelled. */
export class Interrupted extends Error {}

/** An error of the user. */
export class Mistake extends Error {}

export class NotSignedIn extends Mistake {}

// Control and direction characters in texts of other people.
const disturbing = /[\p{Cc}\u061c\u2028-\u202e\u2066-\u2069]/gu

/** On one line, without control characters. */
export const printable = (text: string) => text.replace(disturbing, '\u{fffd}')

/** Keeps line ends. */
const printableLines = (text: string) =>
  text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('')

const noText = () => new Mistake('the response is not text: redirect it to a file, with > FILE')

const decoded = (decoder: TextDecoder, chunk?: Uint8Array) => {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw noText()
  }
}

/** UTF-8 text without control characters. Throws a Mistake for other content. */
export async function* printableText(chunks: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  // A line end may be split.
  let pending = ''
  for await (const chunk of chunks) {
    const text = pending + decoded(decoder, chunk)
    if (text.includes('\0')) throw noText()
    pending = text.endsWith('\r') ? '\r' : ''
    yield printableLines(text.slice(0, text.length - pending.length))
  }
  yield printableLines(pending + decoded(decoder))
}

const writeTo = (stream: NodeJS.WriteStream, chunk: string | Uint8Array) =>
  new Promise<void>((resolve) => {
    if (stream.write(chunk)) resolve()
    else stream.once('drain', resolve)
  })

/** A closed pipe (`| head`) is not a failure. */
const endWithReader = (stream: NodeJS.WriteStream) =>
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })

export const openTerminal = (): Terminal => {
  const { stdin, stdout, stderr } = process
  let words = ''
  endWithReader(stdout)
  endWithReader(stderr)
  process.once('SIGINT', () => {
    // After the ^C that the terminal shows.
    if (words || stderr.isTTY) stderr.write(`\n${words}`)
    process.exit(status.interrupted)
  })
  return {
    print: (text) => writeTo(stdout, text),
    async file(chunks) {
      for await (const chunk of stdout.isTTY ? printableText(chunks) : chunks) await writeTo(stdout, chunk)
    },
    printError: (text) => stderr.write(`${text}\n`),
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    paintError: (style, text) => styleText(style, text, { stream: stderr }),
    columns: stdout.isTTY ? stdout.columns : undefined,
    isAttended: stdin.isTTY === true && stderr.isTTY === true,
    lastWords: (text) => {
      words = `${text}\n`
    },
  }
}
