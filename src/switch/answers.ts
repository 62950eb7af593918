import { failure, failureKind, mediaSwitchMissing, mediaSwitchUnreachable } from '../lib/failure.ts'

/** Failures of requests that read from edges: with no edge configured the result is empty. */
export const edgeFails = [mediaSwitchUnreachable]

/** Failures of requests that a phone has to get. */
export const switchFails = [mediaSwitchMissing, ...edgeFails]

/** What is asked for may be at edges that did not answer. */
export const assertAllResponded = (unreachable: readonly string[]) => {
  const edges = unreachable.map((host) => ({ host, reason: 'did not answer' }))
  if (edges.length > 0) throw failure(mediaSwitchUnreachable, { edges })
}

/** What metadata tells of edges that did not answer: nothing where all did. */
export const unreachableIn = (hosts: readonly string[]) => (hosts.length > 0 ? { unreachable: hosts } : {})

export const quickcallFailed = failureKind('quickcall_failed', ({ reason }: { reason: string }) => ({
  status: 500,
  message: 'quickcall initiation failed',
  data: { message: reason },
}))
