import { failureKind } from '../../../lib/failure.ts'

const aboutApp = (message: string) => (details: { id: string }) => ({
  status: 400,
  message,
  data: { message, cause: details.id },
})

export const appInstalled = failureKind('app_installed', aboutApp('Application already installed'))

export const appNotInstalled = failureKind('app_not_installed', aboutApp('Application is not installed'))
