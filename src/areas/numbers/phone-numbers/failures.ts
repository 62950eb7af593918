import { type Failure, failureKind } from '../../../lib/failure.ts'

export interface NumberError {
  code: number
  error: string
  message: string
  cause?: string
}

// Errors of one number in a collection, by the name of the failure.
const described = new Map<string, (details: never) => NumberError>()

/** A failure about one number. In a collection only that number fails, with the data of the single request. */
const numberFailure = <Details extends object>(
  name: string,
  status: number,
  describe: (details: Details) => NumberError,
) => {
  described.set(name, describe)
  return failureKind(name, (details: Details) => {
    const data = describe(details)
    return { status, message: data.error, data }
  })
}

/** Undefined: not about a number. */
export const numberErrorOf = ({ kind: { name }, details }: Failure): NumberError | undefined =>
  described.get(name)?.(details as never)

const withCause = (cause: string | undefined) => (cause === undefined ? {} : { cause })

export const numberExists = numberFailure('number_exists', 409, ({ number }: { number: string }) => ({
  code: 409,
  error: 'number_exists',
  message: `number ${number} already exists`,
  cause: number,
}))

// The envelope has status 404, the data code 400.
export const notReconcilable = numberFailure('not_reconcilable', 404, ({ number }: { number: string }) => ({
  code: 400,
  error: 'not_reconcilable',
  message: `number ${number} is not reconcilable`,
  cause: number,
}))

export const numberForbidden = numberFailure('number_forbidden', 403, ({ cause }: { cause?: string }) => ({
  code: 403,
  error: 'forbidden',
  message: 'requestor is unauthorized to perform operation',
  ...withCause(cause),
}))

described.set('number_not_found', ({ number }: { number: string }) => ({
  code: 404,
  error: 'not_found',
  message: `number ${number} not found`,
  cause: number,
}))

export const numberNotFound = failureKind('number_not_found', ({ number }: { number: string }) => ({
  status: 404,
  message: 'bad_identifier',
  data: { message: 'bad identifier', not_found: 'The number could not be found', cause: number },
}))

const badRequest = (error: string, message: string, cause?: string): NumberError => ({
  code: 400,
  error,
  message,
  ...withCause(cause),
})

export const invalidStateTransition = numberFailure(
  'invalid_state_transition',
  400,
  ({ from, to }: { from: string; to: string }) =>
    badRequest('invalid_state_transition', 'invalid state transition', `from ${from} to ${to}`),
)

export const noChangeRequired = numberFailure('no_change_required', 400, () =>
  badRequest('no_change_required', 'no change required'),
)

export const assignFailure = numberFailure('assign_failure', 400, ({ cause }: { cause: string }) =>
  badRequest('assign_failure', 'invalid account to assign to', cause),
)

export const numberInvalid = numberFailure('number_invalid', 400, ({ cause }: { cause: string }) =>
  badRequest('invalid', 'invalid', cause),
)

export const numberFault = numberFailure(
  'number_fault',
  500,
  ({ message, cause }: { message: string; cause?: string }) => ({
    code: 500,
    error: 'unspecified_fault',
    message,
    ...withCause(cause),
  }),
)

export const searchRestricted = failureKind('search_restricted', ({ message }: { message: string }) => ({
  status: 404,
  message,
  data: {},
}))

const withData =
  (status: number, message: string) =>
  ({ data }: { data: unknown }) => ({ status, message, data })

export const initFailed = failureKind('init_failed', withData(500, 'init failed'))

export const numberUnassigned = failureKind('number_unassigned', withData(400, 'client error'))
