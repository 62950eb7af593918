import { printable } from '../../cli/terminal.ts'
import { printError } from '../../src/commands/output.ts'
import { faultOf, type ReportedDifference, type Tally } from '../comparing/differences.ts'
import { formatCount } from '../report/report.ts'

/** Exit status: something is left for a person. */
export const waitsForPerson = 2

const printIntervalMs = 5000

/** Prints progress and speed every few seconds. */
export const createProgressPrinter = () => {
  const begun = performance.now()
  let printed = begun
  let documents = 0
  return (progress: { chapter: string; database: string; documents: number }) => {
    documents += progress.documents
    const now = performance.now()
    if (now - printed < printIntervalMs) return
    printed = now
    const rate = formatCount(Math.round(documents / ((now - begun) / 1000)))
    const { chapter, database } = progress
    printError(`${chapter}: ${database}, ${formatCount(documents)} documents, ${rate} a second`)
  }
}

const lineOf = (difference: ReportedDifference) => {
  const { place, reason } = faultOf(difference)
  return printable(`${place}: ${reason}`)
}

export const differenceLines = ({ differences, untold }: Tally) => [
  ...differences.map(lineOf),
  ...(untold > 0 ? [`... and ${untold} more`] : []),
]

export const questionLines = ({ questions }: Tally) =>
  questions.map(
    ({ name, asked, different }) =>
      `${name.padEnd(24)} ${String(asked).padStart(9)} ${different === 0 ? 'the same' : `${different} different`}`,
  )

export const sumOfQuestions = ({ questions }: Tally, key: 'asked' | 'different') =>
  questions.reduce((total, one) => total + one[key], 0)
