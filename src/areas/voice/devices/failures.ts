import { failureKind } from '../../../lib/failure.ts'

export const phoneUnregistered = failureKind('phone_unregistered', () => ({
  status: 409,
  message: 'phone_unregistered',
  data: { message: 'the device is not registered: nothing was sent' },
}))
