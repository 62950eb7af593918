import { type Query, QueryClient, useMutation, useQuery } from '@tanstack/react-query'
import { NotAgreed, withConsent } from './consent.ts'
import { tellFailure } from './failures.tsx'

/** What was read. The client repeats what is worth it: nothing is repeated a second time here. */
export const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000, gcTime: 60_000, networkMode: 'always' } },
})

/** The first part names the kind of the record (`device`, `number`), so that its events find it. */
export type Key = readonly [kind: string, ...rest: unknown[]]

type Period = number | false

interface Options<Answer> {
  enabled?: boolean
  /** Milliseconds between two reads, for data without events; may depend on the last response. */
  every?: Period | ((answer: Answer | undefined) => Period)
}

/** Reads once, and again when the kind is forgotten. */
export const useAnswer = <Answer>(
  key: Key,
  read: (signal: AbortSignal) => Promise<Answer>,
  { enabled = true, every = false }: Options<Answer> = {},
) =>
  useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
    enabled,
    refetchInterval: typeof every === 'function' ? ({ state }) => every(state.data) : every,
  })

/**
 * Reads all or some of the shown data again. A first read in progress is restarted: its response may already be
 * out of date.
 */
export const readAgain = async (isMeant: (query: Query) => boolean = () => true) => {
  await queries.cancelQueries({
    predicate: (query) => query.state.data === undefined && isMeant(query),
  })
  await queries.invalidateQueries({ predicate: isMeant })
}

/** Everything read of these kinds is out of date. */
export const forget = (...kinds: readonly string[]) =>
  readAgain(({ queryKey }) => kinds.includes(String(queryKey[0])))

interface Change<Given, Answer> {
  run: (given: Given) => Promise<Answer>
  /** Kinds that are out of date afterwards. */
  touches: readonly string[]
  done?: (answer: Answer, given: Given) => void
  /** Returns whether it handled the failure; otherwise a toast shows it. */
  failed?: (error: unknown) => boolean
}

/** Something that is written, once for each time it is asked for; what it costs is shown first. */
export const useChange = <Given, Answer>({ run, touches, done, failed }: Change<Given, Answer>) =>
  useMutation({
    // Asks for consent before charges.
    mutationFn: (given: Given) => withConsent(() => run(given)),
    networkMode: 'always',
    onSuccess: async (answer, given) => {
      done?.(answer, given)
      await forget(...touches)
    },
    onError: (error) => {
      // The user declined and knows that nothing changed.
      if (!(error instanceof NotAgreed) && !failed?.(error)) tellFailure(error)
    },
  })
