import { isObject, present } from '../../lib/json.ts'
import { type Edge, EdgeRefusal, reasonOf } from './edges.ts'

/** The answer of an edge. Undefined: it does not know the method. */
const askIfKnown = async (edge: Edge, method: string): Promise<unknown> => {
  try {
    return await edge.ask(method, [])
  } catch (error) {
    if (error instanceof EdgeRefusal) return undefined
    throw error
  }
}

const numberIn = (answer: unknown, name: string) =>
  isObject(answer) && typeof answer[name] === 'number' ? answer[name] : undefined

export type EdgeState = Awaited<ReturnType<typeof stateOf>>

/** The state that an edge reports, or the reason why it does not respond. */
export const stateOf = async (edge: Edge) => {
  const { host } = edge
  try {
    const [version, uptime, calls] = await Promise.all(
      ['core.version', 'core.uptime', 'dlg.stats_active'].map((method) => askIfKnown(edge, method)),
    )
    return {
      host,
      reachable: true,
      ...present({
        version: typeof version === 'string' ? version : undefined,
        uptime_s: numberIn(uptime, 'uptime'),
        calls: numberIn(calls, 'all'),
      }),
    }
  } catch (error) {
    return { host, reachable: false, reason: reasonOf(error) }
  }
}
