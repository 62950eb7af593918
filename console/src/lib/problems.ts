import { CrosspointError } from '@crosspoint/client'

/** What a refusal says of each field. */
export const problemsOf = (error: unknown): Readonly<Record<string, string>> =>
  error instanceof CrosspointError
    ? Object.fromEntries(error.problems.map(({ field, message }) => [field, message]))
    : {}
