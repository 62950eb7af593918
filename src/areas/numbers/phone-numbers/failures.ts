import { failureKind } from '../../../lib/failure.ts'
import { type NumberError, numberErrors } from './number-errors.ts'

/** `data` is the same object that collections tell for each number. */
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
