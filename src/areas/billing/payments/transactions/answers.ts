import { answer } from '../../../../http/answer/answers.ts'
import { failure } from '../../../../lib/failure.ts'
import { invalidBookkeeper, noPaymentToken } from '../../../../payment/failures.ts'
import { paymentFailed } from '../failures.ts'
import { isOpen, type Transaction, transactionJson } from './rules.ts'

/** A failed payment is an error; an open one is a 202. */
export const assertMoved = (transaction: Transaction) => {
  if (transaction.status !== 'failed') return
  const { reason = 'declined', message: told = reason } = transaction.doc.result ?? {}
  if (reason === 'no_payment_token') throw failure(noPaymentToken, {})
  throw failure(paymentFailed, { reason, told, transaction: transactionJson(transaction) })
}

export const underWay = 'the bookkeeper has not said yet whether the money has moved'

export const moneyAnswer = (transaction: Transaction) => {
  assertMoved(transaction)
  const data = transactionJson(transaction)
  return isOpen(transaction)
    ? answer({ data, status: 202, message: underWay, created: transaction.id })
    : answer({ data, created: transaction.id })
}

export const moneyFailures = [noPaymentToken, paymentFailed, invalidBookkeeper]
