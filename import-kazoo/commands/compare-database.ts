import { printingRefusals } from '../../src/commands/refusals.ts'
import { status } from '../../src/commands/statuses.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { ComparedWithDatabase } from '../comparing/operations.ts'
import { formatCount } from '../report/report.ts'
import { withImports, withSource } from './import.ts'
import { differenceLines, printStatus, questionLines, sumOfQuestions, waitsForPerson } from './output.ts'

interface Asked {
  /** Number of accounts below the master account. */
  sample: number
  seed: string
  json?: boolean
}

const toldEvery = 100

const sumLines = ({ sums }: ComparedWithDatabase) =>
  sums.map(({ name, there, here }) => {
    const [one, other] = [there, here].map((sum) => formatCount(sum).padStart(20))
    return `${name.padEnd(24)} ${one} ${other} ${there === here ? 'the same' : formatCount(here - there)}`
  })

/** A report that an operator can sign. */
const textOf = (compared: ComparedWithDatabase) => {
  const { source, accounts, of_accounts: ofAll } = compared
  const [asked, different] = [sumOfQuestions(compared, 'asked'), sumOfQuestions(compared, 'different')]
  return [
    `${source}, held against the store of this machine at ${new Date(systemClock.now()).toISOString()}`,
    '',
    ...differenceLines(compared),
    ...(different > 0 ? [''] : []),
    'Compared, one by one:',
    ...questionLines(compared),
    '',
    `${'Counts and sums'.padEnd(24)} ${'there'.padStart(20)} ${'here'.padStart(20)}`,
    ...sumLines(compared),
    '',
    `${accounts} of ${ofAll} accounts, ${formatCount(asked)} answers, ${formatCount(different)} different.`,
    '',
    'Accepted by: ____________________  on: ______________',
  ].join('\n')
}

export const compareWithDatabase = (named: string, { sample, seed, json }: Asked): Promise<number> =>
  printingRefusals(() =>
    withSource(named, async (source) => {
      const compared = await withImports(({ compare, respond }) =>
        compare(source, {
          sample,
          seed,
          respond,
          onAccount: (done, all) => {
            if (done % toldEvery === 0) printStatus(`${formatCount(done)} of ${formatCount(all)} accounts`)
          },
        }),
      )
      process.stdout.write(json ? `${JSON.stringify(compared)}\n` : `${textOf(compared)}\n`)
      return sumOfQuestions(compared, 'different') === 0 ? status.done : waitsForPerson
    }),
  )
