import { type Failure, failureKind } from '../../../lib/failure.ts'

export interface NumberError {
  code: number
  error: string
  message: string
  cause?: string
}

const withCause = (cause: string | undefined) => (cause === undefined ? {} : { cause })

/** Failures about one number. In a collection only that number fails. */
const numberErrors = {
  number_exists: ({ number }: { number: string }): NumberError => ({
    code: 409,
    error: 'number_exists',
    message: `number ${number} already exists`,
    cause: number,
  }),
  // The envelope has status 404, the data code 400.
  not_reconcilable: ({ number }: { number: string }): NumberError => ({
    code: 400,
    error: 'not_reconcilable',
    message: `number ${number} is not reconcilable`,
    cause: number,
  }),
  number_forbidden: ({ cause }: { cause?: string }): NumberError => ({
    code: 403,
    error: 'forbidden',
    message: 'requestor is unauthorized to perform operation',
    ...withCause(cause),
  }),
  number_not_found: ({ number }: { number: string }): NumberError => ({
    code: 404,
    error: 'not_found',
    message: `number ${number} not found`,
    cause: number,
  }),
  invalid_state_transition: ({ from, to }: { from: string; to: string }): NumberError => ({
    code: 400,
    error: 'invalid_state_transition',
    message: 'invalid state transition',
    cause: `from ${from} to ${to}`,
  }),
  no_change_required: (): NumberError => ({
    code: 400,
    error: 'no_change_required',
    message: 'no change required',
  }),
  assign_failure: ({ cause }: { cause: string }): NumberError => ({
    code: 400,
    error: 'assign_failure',
    message: 'invalid account to assign to',
    cause,
  }),
  number_invalid: ({ cause }: { cause: string }): NumberError => ({
    code: 400,
    error: 'invalid',
    message: 'invalid',
    cause,
  }),
  number_fault: ({ message, cause }: { message: string; cause?: string }): NumberError => ({
    code: 500,
    error: 'unspecified_fault',
    message,
    ...withCause(cause),
  }),
}

type Described = typeof numberErrors

const isNumberFailure = (name: string): name is keyof Described => Object.hasOwn(numberErrors, name)

/** Errors of emergency addresses in collections. */
const addressErrors: Readonly<Record<string, NumberError>> = {
  invalid_data: { code: 400, error: 'invalid', message: 'invalid', cause: 'the address is not valid' },
  multiple_choice: { code: 400, error: 'multiple_choice', message: 'more than one address found' },
}

/** Undefined: not about a number. */
export const numberErrorOf = ({ kind: { name }, details }: Failure): NumberError | undefined =>
  isNumberFailure(name) ? numberErrors[name](details as never) : addressErrors[name]

const about =
  <Details>(status: number, describe: (details: Details) => NumberError) =>
  (details: Details) => {
    const data = describe(details)
    return { status, message: data.error, data }
  }

export const numberExists = failureKind('number_exists', about(409, numberErrors.number_exists))

export const notReconcilable = failureKind('not_reconcilable', about(404, numberErrors.not_reconcilable))

export const numberForbidden = failureKind('number_forbidden', about(403, numberErrors.number_forbidden))

export const numberNotFound = failureKind('number_not_found', ({ number }: { number: string }) => ({
  status: 404,
  message: 'bad_identifier',
  data: { message: 'bad identifier', not_found: 'The number could not be found', cause: number },
}))

export const invalidStateTransition = failureKind(
  'invalid_state_transition',
  about(400, numberErrors.invalid_state_transition),
)

export const noChangeRequired = failureKind('no_change_required', about(400, numberErrors.no_change_required))

export const assignFailure = failureKind('assign_failure', about(400, numberErrors.assign_failure))

export const numberInvalid = failureKind('number_invalid', about(400, numberErrors.number_invalid))

export const numberFault = failureKind('number_fault', about(500, numberErrors.number_fault))

export const searchRestricted = failureKind('search_restricted', ({ message }: { message: string }) => ({
  status: 404,
  message,
  data: {},
}))

export const initFailed = failureKind('init_failed', ({ data }: { data: unknown }) => ({
  status: 500,
  message: 'init failed',
  data,
}))

export const numberUnassigned = failureKind('number_unassigned', ({ data }: { data: unknown }) => ({
  status: 400,
  message: 'client error',
  data,
}))

export const multipleChoice = failureKind(
  'multiple_choice',
  ({ address, addresses }: { address: unknown; addresses: readonly unknown[] }) => ({
    status: 400,
    message: 'multiple_choice',
    data: {
      multiple_choice: {
        e911: { cause: address, details: addresses, message: 'more than one address found' },
      },
    },
  }),
)
