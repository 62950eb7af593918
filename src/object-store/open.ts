import { openDirectory } from './directory.ts'
import type { ObjectStore, ObjectStorePlace } from './object-store.ts'
import { openS3 } from './s3.ts'

export const openObjectStore = (place: ObjectStorePlace | undefined): ObjectStore | undefined => {
  if (!place) return undefined
  return place.kind === 's3' ? openS3(place) : openDirectory(place.path)
}
