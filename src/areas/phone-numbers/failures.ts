import type { DetailsOf, FailureAnswer } from '../../lib/failure-answer.ts'
import { type NumberError, numberErrors } from './number-errors.ts'

/** `data` is the same object that collections tell for each number. */
const about =
  <Details>(status: number, describe: (details: Details) => NumberError) =>
  (details: Details): FailureAnswer => {
    const data = describe(details)
    return { status, message: data.error, data }
  }

export const numberFailures = {
  number_exists: about(409, numberErrors.number_exists),
  not_reconcilable: about(404, numberErrors.not_reconcilable),
  number_forbidden: about(403, numberErrors.number_forbidden),
  number_not_found: ({ number }: { number: string }): FailureAnswer => ({
    status: 404,
    message: 'bad_identifier',
    data: { message: 'bad identifier', not_found: 'The number could not be found', cause: number },
  }),
  invalid_state_transition: about(400, numberErrors.invalid_state_transition),
  no_change_required: about(400, numberErrors.no_change_required),
  assign_failure: about(400, numberErrors.assign_failure),
  number_invalid: about(400, numberErrors.number_invalid),
  number_fault: about(500, numberErrors.number_fault),
  search_restricted: ({ message }: { message: string }): FailureAnswer => ({
    status: 404,
    message,
    data: {},
  }),
  init_failed: ({ data }: { data: unknown }): FailureAnswer => ({
    status: 500,
    message: 'init failed',
    data,
  }),
  number_unassigned: ({ data }: { data: unknown }): FailureAnswer => ({
    status: 400,
    message: 'client error',
    data,
  }),
  multiple_choice: ({
    address,
    addresses,
  }: {
    address: unknown
    addresses: readonly unknown[]
  }): FailureAnswer => ({
    status: 400,
    message: 'multiple_choice',
    data: {
      multiple_choice: {
        e911: { cause: address, details: addresses, message: 'more than one address found' },
      },
    },
  }),
}

type Owned = DetailsOf<typeof numberFailures>

declare module '../../lib/failure.ts' {
  interface FailureDetails extends Owned {}
}
