import type { Failure } from '../../../lib/failure.ts'

/** What clients, collections and tasks are told of a number that could not be served. */
export interface NumberError {
  code: number
  error: string
  message: string
  cause?: string
}

const withCause = (cause: string | undefined) => (cause === undefined ? {} : { cause })

/** The failures that are about one number: in a collection they fail that number alone. */
export const numberErrors = {
  number_exists: ({ number }: { number: string }): NumberError => ({
    code: 409,
    error: 'number_exists',
    message: `number ${number} already exists`,
    cause: number,
  }),
  // The envelope says 404; the code in the data is 400 all the same.
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

/** What an emergency address is refused with, beside the shapes that a single request is answered with. */
const addressErrors: Readonly<Record<string, NumberError>> = {
  invalid_data: { code: 400, error: 'invalid', message: 'invalid', cause: 'the address is not valid' },
  multiple_choice: { code: 400, error: 'multiple_choice', message: 'more than one address found' },
}

/** Undefined for failures that are not about a number. */
export const numberErrorOf = ({ kind: { name }, details }: Failure): NumberError | undefined =>
  isNumberFailure(name) ? numberErrors[name](details as never) : addressErrors[name]
