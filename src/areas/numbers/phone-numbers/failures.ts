import { type Failure, failureKind } from '../../../lib/failure.ts'

export interface NumberError {
  code: number
  error: string
  message: string
  cause?: string
}

// Errors of one number in a collection, by the name of the failure.
const errorsOfNumbers = new Map<string, (details: never) => NumberError>()

const numberError = (code: number, error: string, message: string, cause?: string): NumberError => ({
  code,
  error,
  message,
  ...(cause === undefined ? {} : { cause }),
})

/** A failure about one number. In a collection only that number fails, with the data of the single request. */
const numberFailure = <Details extends object>(
  name: string,
  status: number,
  errorOf: (details: Details) => NumberError,
) => {
  errorsOfNumbers.set(name, errorOf)
  return failureKind(name, (details: Details) => {
    const data = errorOf(details)
    return { status, message: data.error, data }
  })
}

/** Undefined: not about a number. */
export const numberErrorOf = ({ kind: { name }, details }: Failure): NumberError | undefined =>
  errorsOfNumbers.get(name)?.(details as never)

export const numberExists = numberFailure('number_exists', 409, ({ number }: { number: string }) =>
  numberError(409, 'number_exists', `number ${number} already exists`, number),
)

// The envelope has status 404, the data code 400.
export const notReconcilable = numberFailure('not_reconcilable', 404, ({ number }: { number: string }) =>
  numberError(400, 'not_reconcilable', `number ${number} is not reconcilable`, number),
)

export const numberForbidden = numberFailure('number_forbidden', 403, ({ cause }: { cause?: string }) =>
  numberError(403, 'forbidden', 'requestor is unauthorized to perform operation', cause),
)

errorsOfNumbers.set('number_not_found', ({ number }: { number: string }) =>
  numberError(404, 'not_found', `number ${number} not found`, number),
)

export const numberNotFound = failureKind('number_not_found', ({ number }: { number: string }) => ({
  status: 404,
  message: 'bad_identifier',
  data: { message: 'bad identifier', not_found: 'The number could not be found', cause: number },
}))

export const invalidStateTransition = numberFailure(
  'invalid_state_transition',
  400,
  ({ from, to }: { from: string; to: string }) =>
    numberError(400, 'invalid_state_transition', 'invalid state transition', `from ${from} to ${to}`),
)

export const noChangeRequired = numberFailure('no_change_required', 400, () =>
  numberError(400, 'no_change_required', 'no change required'),
)

export const assignFailure = numberFailure('assign_failure', 400, ({ cause }: { cause: string }) =>
  numberError(400, 'assign_failure', 'invalid account to assign to', cause),
)

export const numberInvalid = numberFailure('number_invalid', 400, ({ cause }: { cause: string }) =>
  numberError(400, 'invalid', 'invalid', cause),
)

export const numberFault = numberFailure(
  'number_fault',
  500,
  ({ message, cause }: { message: string; cause?: string }) =>
    numberError(500, 'unspecified_fault', message, cause),
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
