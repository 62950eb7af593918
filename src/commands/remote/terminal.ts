// The person's side of a command: results go to standard output, everything else to standard error.
import { styleText } from 'node:util'
import { status } from '../statuses.ts'

type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** A part of the result. Waits while its reader is slow. */
  say(text: string): Promise<void>
  /** A file as it comes: text only, and made harmless, where a terminal would show it. */
  file(chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** A line beside the result. */
  tell(text: string): void
  /** Plain where the output is no terminal, and where NO_COLOR is set. */
  paint(style: Style, text: string): string
  paintError(style: Style, text: string): string
  /** How wide the output is; undefined: it is no terminal, and nothing is cut. */
  columns: number | undefined
  /** Whether there is somebody who can be asked. */
  isAttended: boolean
  /** What is said when Ctrl-C ends the command. */
  lastWords(text: string): void
}

/** The person at the terminal wants no more of it. */
export class Interrupted extends Error {}

/** Something that the person at the terminal has to put right. */
export class Mistake extends Error {}

/** Nobody is signed in under a profile. */
export class NotSignedIn extends Mistake {}

// Whatever somebody else called a thing: none of it moves the cursor or turns the direction of what follows.
const disturbing = /[\p{Cc}\u061c\u2028-\u202e\u2066-\u2069]/gu

/** A text of the server on one line, with nothing in it that a terminal would obey. */
export const printable = (text: string) => text.replace(disturbing, '\u{fffd}')

/** The same on as many lines as the text has. */
const printableLines = (text: string) =>
  text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('')

const noText = () =>
  new Mistake(
    'what the server has sent is no text, and nothing for a terminal: send it into a file, with > FILE',
  )

const decoded = (decoder: TextDecoder, chunk?: Uint8Array) => {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw noText()
  }
}

/** Text in UTF-8 as it comes, with nothing in it that a terminal would obey. Throws a Mistake where it is none. */
export async function* printableText(chunks: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  // The end of a line may come in two chunks.
  let held = ''
  for await (const chunk of chunks) {
    const text = held + decoded(decoder, chunk)
    if (text.includes('\0')) throw noText()
    held = text.endsWith('\r') ? '\r' : ''
    yield printableLines(text.slice(0, text.length - held.length))
  }
  yield printableLines(held + decoded(decoder))
}

const writeTo = (stream: NodeJS.WriteStream, chunk: string | Uint8Array) =>
  new Promise<void>((resolve) => {
    if (stream.write(chunk)) resolve()
    else stream.once('drain', resolve)
  })

/** Who has seen enough (`| head`) closes the pipe: that is no failure, and there is nothing more to do. */
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
    // Behind the ^C that the terminal shows.
    if (words || stderr.isTTY) stderr.write(`\n${words}`)
    process.exit(status.interrupted)
  })
  return {
    say: (text) => writeTo(stdout, text),
    async file(chunks) {
      for await (const chunk of stdout.isTTY ? printableText(chunks) : chunks) await writeTo(stdout, chunk)
    },
    tell: (text) => stderr.write(`${text}\n`),
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    paintError: (style, text) => styleText(style, text, { stream: stderr }),
    columns: stdout.isTTY ? stdout.columns : undefined,
    isAttended: stdin.isTTY === true && stderr.isTTY === true,
    lastWords: (text) => {
      words = `${text}\n`
    },
  }
}
