import type { Calls } from '../outgoing/calls.ts'
import { openDirectory } from './directory.ts'
import type { ObjectStore, ObjectStorePlace } from './object-store.ts'
import { openS3 } from './s3.ts'

/** Undefined without a place. `calls` records metrics and traces of a bucket. */
export const openObjectStore = (
  place: ObjectStorePlace | undefined,
  calls?: Calls,
): ObjectStore | undefined => {
  if (!place) return undefined
  return place.kind === 's3' ? openS3(place, calls) : openDirectory(place.path)
}
