import i18next from 'i18next'
import { isObject } from '../../lib/json.ts'

/** Among the numbers of a callflow: all numbers that no other callflow takes. */
export const noMatch = 'no_match'

export const numberName = (number: string) => (number === noMatch ? i18next.t('callflows.noMatch') : number)

interface Titled {
  name?: string
  numbers?: readonly string[]
  patterns?: readonly string[]
  featurecode?: unknown
}

/** The name of a callflow; without one its feature code, numbers or patterns. */
export const titleOf = ({ name, numbers = [], patterns = [], featurecode }: Titled) => {
  if (name) return name
  if (isObject(featurecode) && typeof featurecode.name === 'string') return featurecode.name
  return [...numbers.map(numberName), ...patterns].join(', ') || i18next.t('callflows.unnamed')
}
