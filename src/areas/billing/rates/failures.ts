import { failureKind, plain } from '../../../lib/failure.ts'

export const noRate = failureKind('no_rate', plain(404, 'No rate found for this number'))
