import type { Place } from './removal.ts'

/** A dot in a key becomes `%2E`. */
export const pathKey = (key: string): string => key.replaceAll('.', '%2E')

export const pathOf = (place: Place): string => place.map(pathKey).join('.')

export const placeOf = (path: string): Place => path.split('.').map((key) => key.replaceAll('%2E', '.'))
