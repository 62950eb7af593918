import { failureKind } from '../../../lib/failure.ts'

export const notRenewable = failureKind('not_renewable', ({ method }: { method: string }) => ({
  status: 405,
  message: `${method} not allowed to renew`,
  data: { message: `${method} not allowed to renew` },
}))
