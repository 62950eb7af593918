import type { Place } from './removal.ts'

/** A key as a part of a dotted property path: a dot within it is written `%2E`. */
export const pathKey = (key: string): string => key.replaceAll('.', '%2E')

/** A place as a dotted property path. */
export const pathOf = (place: Place): string => place.map(pathKey).join('.')

/** The place of a dotted property path. */
export const placeOf = (path: string): Place => path.split('.').map((key) => key.replaceAll('%2E', '.'))
