import { openDirectory } from './directory.ts'
import type { ObjectStore, ObjectStorePlace } from './object-store.ts'

export const openObjectStore = (place: ObjectStorePlace | undefined): ObjectStore | undefined =>
  place && openDirectory(place.path)
