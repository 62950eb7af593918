import { failure, failureKind, mediaSwitchMissing, mediaSwitchUnreachable } from '../lib/failure.ts'

/** Failures of requests that read from edges. Without edges the result is empty. */
export const edgeFails = [mediaSwitchUnreachable]

/** Failures of requests that must reach a phone. */
export const switchFails = [mediaSwitchMissing, ...edgeFails]

/** Fails if the result may be at an edge that did not answer. */
export const assertAllResponded = (unreachable: readonly string[]) => {
  const edges = unreachable.map((host) => ({ host, reason: 'did not answer' }))
  if (edges.length > 0) throw failure(mediaSwitchUnreachable, { edges })
}

/** Metadata about edges that did not answer. */
export const unreachableIn = (hosts: readonly string[]) => (hosts.length > 0 ? { unreachable: hosts } : {})

/** The same for lists that are empty where there is no edge to ask, which explains why. */
export const edgesIn = (isPresent: boolean, hosts: readonly string[]) =>
  isPresent ? unreachableIn(hosts) : { edges: 0 }

export const quickcallFailed = failureKind('quickcall_failed', ({ reason }: { reason: string }) => ({
  status: 500,
  message: 'quickcall initiation failed',
  data: { message: reason },
}))
