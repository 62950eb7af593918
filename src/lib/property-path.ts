import type { Place } from './removal.ts'

/** A place as a dotted property path. Dots within keys are written `%2E`. */
export const pathOf = (place: Place): string => place.map((key) => key.replaceAll('.', '%2E')).join('.')

/** The place of a dotted property path. */
export const placeOf = (path: string): Place => path.split('.').map((key) => key.replaceAll('%2E', '.'))
