export const print = (text: string) => process.stdout.write(`${text}\n`)
export const printError = (text: string) => process.stderr.write(`${text}\n`)

export const formatCount = (count: number) => count.toLocaleString('en-US')

const width = 30
const barPauseMs = 100
const linePauseMs = 10_000

/** Shows the progress of long work on standard error: a bar on a terminal, a line every ten seconds in a log. */
export const createProgress = (total: number) => {
  const { stderr } = process
  const pause = stderr.isTTY ? barPauseMs : linePauseMs
  let latest = performance.now()
  let isShown = false

  return {
    show(done: number, text: string) {
      if (performance.now() - latest < pause) return
      latest = performance.now()
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const percent = `${Math.floor(share * 100)} %`
      if (!stderr.isTTY) return printError(`${percent}: ${text}`)
      const full = Math.round(share * width)
      isShown = true
      const bar = `${'█'.repeat(full)}${'░'.repeat(width - full)}`
      return stderr.write(`\r${bar} ${percent.padStart(5)}  ${text}\u001b[K`)
    },
    end() {
      // Clears the bar so that the next output starts on its own line.
      if (isShown) stderr.write('\r\u001b[K')
    },
  }
}
