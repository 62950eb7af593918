import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'

const aboutApp =
  (message: string) =>
  (details: { id: string }): FailureAnswer => ({
    status: 400,
    message,
    data: { message, cause: details.id },
  })

export const appsStoreFailures = {
  app_installed: aboutApp('Application already installed'),
  app_not_installed: aboutApp('Application is not installed'),
}

type Owned = DetailsOf<typeof appsStoreFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
