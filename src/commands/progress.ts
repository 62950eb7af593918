import type { WriteStream } from 'node:tty'

interface Progress {
  show(done: number, text: string): void
  end(): void
}

const width = 30
const barPauseMs = 100
const linePauseMs = 10_000

/** How far a long work is: a bar that moves on a terminal, now and then a line in a log. */
export const createProgress = (
  output: Pick<WriteStream, 'write'> & { isTTY?: boolean },
  total: number,
  now: () => number = () => performance.now(),
): Progress => {
  const pause = output.isTTY ? barPauseMs : linePauseMs
  let latest = now()
  let isShown = false

  const paint = (done: number, text: string) => {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const percent = `${Math.floor(share * 100)} %`.padStart(5)
    if (!output.isTTY) return output.write(`${percent.trim()}: ${text}\n`)
    const full = Math.round(share * width)
    isShown = true
    return output.write(`\r${'█'.repeat(full)}${'░'.repeat(width - full)} ${percent}  ${text}\u001b[K`)
  }

  return {
    show(done, text) {
      if (now() - latest < pause) return
      latest = now()
      paint(done, text)
    },
    end() {
      // What comes next has its own line.
      if (isShown) output.write('\r\u001b[K')
    },
  }
}
