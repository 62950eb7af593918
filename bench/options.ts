import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** The accepted values of options, by name. */
type Values = Readonly<Record<string, RegExp>>

const wrongValueOf = (values: Readonly<Record<string, unknown>>, accepted: Values) =>
  Object.entries(accepted).find(
    ([name, pattern]) => values[name] !== undefined && !pattern.test(String(values[name])),
  )

/** Ends the process with status 2 and one line. */
const refuse = (reason: string, options: Options): never => {
  const known = Object.keys(options).map((name) => `--${name}`)
  process.stderr.write(`${reason} Options: ${known.join(', ')}. --help describes them.\n`)
  process.exit(2)
}

const read = <T extends Options>(options: T) => {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    const [reason] = (error as Error).message.split('. ')
    return refuse(`${reason}.`, options)
  }
}

/** The options of the command line. Unknown options and values that are not accepted end the process with status 2. */
export const readOptions = <const T extends Options>(options: T, accepted: Values = {}) => {
  const values = read(options)
  const [wrong] = wrongValueOf(values, accepted) ?? []
  if (wrong !== undefined) refuse(`--${wrong}: wrong value.`, options)
  return values
}

export const aNumber = /^\d+(\.\d+)?$/
export const anEngine = /^(sqlite|postgres)$/
