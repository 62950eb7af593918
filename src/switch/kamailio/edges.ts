import { failure, isFailure, mediaSwitchUnreachable } from '../../lib/failure.ts'
import { isObject } from '../../lib/json.ts'
import { zip } from '../../lib/list.ts'
import { type Outgoing, OutgoingError } from '../../outgoing/client.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Batches } from '../media-switch.ts'
import { switchSettings } from '../settings.ts'

/** The edges to ask. Undefined: none. */
export const edgeSettings = async (settings: Settings) => {
  const { adapter, kamailio } = await settings.of(switchSettings)
  return adapter === 'kamailio' && kamailio.rpc_urls.length > 0 ? kamailio : undefined
}

export type EdgeSettings = NonNullable<Awaited<ReturnType<typeof edgeSettings>>>

/** The edge answered with an error. */
export class EdgeRefusal extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'EdgeRefusal'
    this.code = code
  }
}

/** The edge did not answer, or not as an edge. */
class EdgeUnreachable extends Error {}

// A thousand bytes a call: the most that one process can assemble.
const maxAnswerBytes = 64_000_000

/** `ask` throws EdgeRefusal for an error of the edge, and other errors if the edge cannot be reached. */
export interface Edge {
  /** Without secrets. */
  host: string
  url: string
  ask(method: string, params: readonly unknown[], timeoutMs?: number): Promise<unknown>
}

const hostIn = (url: string) => URL.parse(url)?.host ?? url

const resultIn = (answer: unknown, status: number) => {
  if (!isObject(answer) || answer.jsonrpc !== '2.0')
    throw new EdgeUnreachable(`responded with ${status} and no JSON-RPC`)
  const { error, result } = answer
  if (!isObject(error)) return result
  throw new EdgeRefusal(Number(error.code ?? status), String(error.message ?? 'refused'))
}

// Reading requests skip an edge for this time after it did not answer, so that a long list waits for it once.
const restMs = 5000

/** The times until which reading requests skip edges that did not answer, by URL. */
export type Resting = Map<string, number>

interface EdgesOf {
  outgoing: Outgoing
  settings: EdgeSettings
  /** The caller logs failures itself. */
  isQuiet?: boolean
}

const edgeAt = (
  url: string,
  { outgoing, settings: { timeout_ms: usualMs, secret }, isQuiet = false }: EdgesOf,
): Edge => ({
  host: hostIn(url),
  url,
  async ask(method, params, timeoutMs = usualMs) {
    const answer = await outgoing.send({
      purpose: 'sip_edge',
      method: 'POST',
      url,
      json: { jsonrpc: '2.0', id: 1, method, params },
      headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
      timeoutMs,
      maxBytes: maxAnswerBytes,
      isOperators: true,
      isQuiet,
    })
    if (answer.status === 401 || answer.status === 403)
      throw new EdgeUnreachable(`responded with ${answer.status}: check the secret`)
    return resultIn(answer.json(), answer.status)
  },
})

export const edgesOf = (how: EdgesOf): readonly Edge[] => how.settings.rpc_urls.map((url) => edgeAt(url, how))

/** Remembers that an edge does not answer. `skips`: fails at once if it did not answer recently. */
export const watched = (edge: Edge, resting: Resting, { skips }: { skips: boolean }): Edge => ({
  ...edge,
  async ask(...question) {
    if (skips && (resting.get(edge.url) ?? 0) > performance.now())
      throw new EdgeUnreachable('did not respond a moment ago')
    try {
      const answer = await edge.ask(...question)
      resting.delete(edge.url)
      return answer
    } catch (error) {
      if (!(error instanceof EdgeRefusal)) resting.set(edge.url, performance.now() + restMs)
      throw error
    }
  },
})

export const reasonOf = (error: unknown) => {
  if (error instanceof OutgoingError) return error.fault
  return error instanceof Error ? error.message : String(error)
}

export const askOne = async <Found>(edge: Edge, question: () => Promise<Found>): Promise<Found> => {
  try {
    return await question()
  } catch (error) {
    throw failure(mediaSwitchUnreachable, { edges: [{ host: edge.host, reason: reasonOf(error) }] })
  }
}

/** Asks all edges. The answers count even if some edges do not answer. `unreachable`: the hosts of those. */
export const askAll = async <Found>(edges: readonly Edge[], query: (edge: Edge) => Promise<Found>) => {
  const answers: { edge: Edge; found: Found }[] = []
  const silent: { host: string; reason: string }[] = []
  const outcomes = await Promise.allSettled(edges.map(query))
  for (const [edge, outcome] of zip(edges, outcomes)) {
    if (outcome.status === 'fulfilled') answers.push({ edge, found: outcome.value })
    else silent.push({ host: edge.host, reason: reasonOf(outcome.reason) })
  }
  if (answers.length === 0 && silent.length > 0) throw failure(mediaSwitchUnreachable, { edges: silent })
  return { answers, unreachable: silent.map(({ host }) => host) }
}

const inParts = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))

/** Asks all edges about many items, in parts. An edge that failed is not asked again. */
export const askAllInParts = async <Item, Found>(
  edges: readonly Edge[],
  batches: Batches<Item>,
  size: number,
  question: (edge: Edge, part: readonly Item[]) => Promise<readonly Found[]>,
) => {
  const found: Found[] = []
  let asked = edges
  const unreachable: string[] = []
  for await (const items of batches)
    for (const part of inParts(items, size)) {
      // The last one of several has failed.
      if (asked.length === 0 && unreachable.length > 0) return { found, unreachable }
      const heard = await askAll(asked, (edge) => question(edge, part)).catch((error) => {
        if (unreachable.length > 0 && isFailure(error, mediaSwitchUnreachable))
          return { answers: [], unreachable: error.details.edges.map(({ host }) => host) }
        throw error
      })
      for (const answer of heard.answers) found.push(...answer.found)
      asked = heard.answers.map(({ edge }) => edge)
      unreachable.push(...heard.unreachable)
    }
  return { found, unreachable }
}

/** A few at a time. The first failure ends it. */
export const forEachFew = async <Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
) => {
  const left = items.values()
  let isFailed = false
  const worker = async () => {
    for (const item of left) {
      if (isFailed) return
      try {
        await work(item)
      } catch (error) {
        isFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}
