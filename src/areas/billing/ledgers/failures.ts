import { failureKind } from '../../../lib/failure.ts'

// The code of a conflict, but no race: the same booking is refused however often it is tried.
export const bookedAlready = failureKind('booked_already', () => ({
  status: 409,
  message: 'datastore_conflict',
  data: { message: 'this has been booked already' },
}))
