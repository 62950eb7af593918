import { parseAddress } from '../../../../lib/cidr.ts'
import { hasProblems, invalid, type Problems } from '../../../../lib/failure.ts'
import type { Origin } from '../../resources/rules.ts'

/** What an edge asks of an address. */
export interface CarrierQuery extends Origin {
  /** Who is called. */
  number?: string | undefined
}

/** Null: what was given is no port. */
const portIn = (text: string | null) => {
  if (!text) return undefined
  const port = Number(text)
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : null
}

/** What an edge asks of an address, or a 400. */
export const carrierQuestionIn = (query: URLSearchParams): CarrierQuery => {
  const text = query.get('address') || undefined
  const address = text === undefined ? undefined : parseAddress(text)
  const port = portIn(query.get('port'))
  const number = query.get('number') || undefined
  const problems: Problems = {
    ...(text === undefined
      ? { address: { required: { message: 'Field is required but missing', value: 'address' } } }
      : {}),
    ...(text !== undefined && address === undefined
      ? { address: { wrong_format: { message: 'Must be an IP address', format: 'ip', value: text } } }
      : {}),
    ...(port === null
      ? { port: { wrong_format: { message: 'Must be a port', format: 'port', value: query.get('port') } } }
      : {}),
  }
  if (address === undefined || hasProblems(problems)) throw invalid(problems)
  return { address, port: port ?? undefined, number }
}
