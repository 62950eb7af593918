import { InvalidArgumentError } from 'commander'
import { monthIn } from '../areas/calls/cdrs/places.rules.ts'

export const wholeNumber =
  (message: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}) =>
  (text: string) => {
    const number = Number(text)
    if (Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(message)
  }

export const month = (text: string) => {
  const found = monthIn(text)
  if (found === undefined) throw new InvalidArgumentError('Write a month as 202601.')
  return found
}
