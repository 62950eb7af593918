import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

export const deviceFailures = {
  phone_unregistered: (): FailureAnswer => ({
    status: 409,
    message: 'phone_unregistered',
    data: { message: 'the device is not registered: nothing was sent' },
  }),
}

type Owned = DetailsOf<typeof deviceFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
