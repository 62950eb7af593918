import { failureKind } from '../../../lib/failure.ts'

// The status of a conflict, but a retry does not help.
export const bookedAlready = failureKind('booked_already', () => ({
  status: 409,
  message: 'datastore_conflict',
  data: { message: 'this entry is already booked' },
}))
