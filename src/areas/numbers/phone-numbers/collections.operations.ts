import { isSuperduper } from '../../../auth/identity.ts'
import { Failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { retrying } from '../../../storage/store.ts'
import type { ChargePreview } from '../../work/tasks/operations.ts'
import { type NumberError, numberErrorOf } from './failures.ts'
import type { NumberPlan, NumberRequest, Numbers, NumberView, Performed } from './operations.ts'
import { createLoopYield } from './turns.ts'
import { itemOf, numberMetadata } from './views.ts'

interface CollectionResult {
  success: Record<string, Json>
  error: Record<string, NumberError>
}

export type PlanNumber = (view: NumberView, request: NumberRequest) => Promise<NumberPlan>

/** Plans the change of one number of the request. */
type PlanOne = (view: NumberView, number: string) => Promise<NumberPlan>

type NumberVerdict = { number: string; plan: NumberPlan } | { number: string; error: NumberError }

interface CollectionBatch {
  texts: readonly string[]
  /** Absent: planned when the batch is committed. */
  planned?: readonly NumberVerdict[]
}

const paymentErrors: Readonly<Record<string, NumberError>> = {
  charges_not_accepted: { code: 402, error: 'accept_charges', message: 'accept charges' },
  not_enough_credit: { code: 402, error: 'not_enough_credit', message: 'not enough credit' },
  billing_issue: { code: 402, error: 'billing_issue', message: 'billing issue' },
}

// Numbers of one commit where nothing is charged: more would block other writers for too long.
const numbersPerCommit = 200

const batchesOf = (texts: readonly string[], size: number): CollectionBatch[] =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => ({
    texts: texts.slice(at * size, (at + 1) * size),
  }))

/** The error of a number; other errors are thrown again. */
const errorOfNumber = (error: unknown): NumberError => {
  const known = error instanceof Failure ? numberErrorOf(error) : undefined
  if (!known) throw error
  return known
}

const plansOf = (verdicts: readonly NumberVerdict[]) =>
  verdicts.flatMap((verdict) => ('plan' in verdict ? [verdict.plan] : []))

export type NumberCollections = ReturnType<typeof createNumberCollections>

/** Several numbers in one request; each fails separately. */
export const createNumberCollections = (numbers: Numbers, foresight: ChargePreview) => {
  const keyOf = async (text: string) => {
    const { normalize, isReconcilable } = await numbers.planning.rules()
    const number = normalize(text)
    return isReconcilable(number) ? number : text
  }

  const verdictOn = (plan: Performed): NumberVerdict => {
    const error = plan.refusal && numberErrorOf(plan.refusal)
    return error ? { number: plan.number.id, error } : { number: plan.number.id, plan }
  }

  const verdictFor = async (view: NumberView, plan: PlanOne, number: string): Promise<NumberVerdict> => {
    try {
      const planned = await plan(view, number)
      return { number: planned.number.id, plan: planned }
    } catch (error) {
      return { number: await keyOf(number), error: errorOfNumber(error) }
    }
  }

  const planAll = async (texts: readonly string[], plan: PlanOne) => {
    const view = await numbers.preload(texts)
    const takeTurns = createLoopYield()
    const verdicts: NumberVerdict[] = []
    for (const number of texts) {
      verdicts.push(await verdictFor(view, plan, number))
      await takeTurns()
    }
    return verdicts
  }

  const planBatches = async (texts: readonly string[], plan: PlanOne) => {
    const batches: Required<CollectionBatch>[] = []
    for (const batch of batchesOf(texts, numbersPerCommit))
      batches.push({ ...batch, planned: await planAll(batch.texts, plan) })
    return batches
  }

  const isPriced = async (batches: readonly Required<CollectionBatch>[]) => {
    let foreseen: unknown
    for (const { planned } of batches) {
      const sets = plansOf(planned).flatMap(({ set }) => set ?? [])
      foreseen = await foresight.add(foreseen, sets)
    }
    return (await foresight.priced(foreseen)).length > 0
  }

  const carryOut = async (verdicts: readonly NumberVerdict[]): Promise<NumberVerdict[]> => {
    const performed = (await numbers.perform(...plansOf(verdicts))).values()
    return verdicts.map((verdict) =>
      'plan' in verdict ? verdictOn(performed.next().value ?? verdict.plan) : verdict,
    )
  }

  const errorsFor = (texts: readonly string[], error: NumberError): Promise<NumberVerdict[]> =>
    Promise.all(texts.map(async (text) => ({ number: await keyOf(text), error })))

  /**
   * If the commit fails because of one number, each number is committed separately. Numbers that change an invoice are
   * not: consent is for the sum, so all of them fail with the error of that number.
   */
  const perform = async ({ texts, planned }: CollectionBatch, plan: PlanOne): Promise<NumberVerdict[]> => {
    try {
      return await retrying(async (attempt) =>
        carryOut((attempt === 1 ? planned : undefined) ?? (await planAll(texts, plan))),
      )
    } catch (error) {
      const known = errorOfNumber(error)
      if (texts.length === 1 || (await isPriced(await planBatches(texts, plan))))
        return errorsFor(texts, known)
      return performEach(batchesOf(texts, 1), plan)
    }
  }

  /**
   * Commits each batch separately. If a payer is refused in between, the batches before stay done and the refusal
   * is the error of the others.
   */
  const performEach = async (batches: readonly CollectionBatch[], plan: PlanOne) => {
    const verdicts: NumberVerdict[] = []
    for (const batch of batches) {
      try {
        verdicts.push(...(await perform(batch, plan)))
      } catch (error) {
        const refusal = error instanceof Failure ? paymentErrors[error.kind.name] : undefined
        if (!refusal || plansOf(verdicts).length === 0) throw error
        verdicts.push(...(await errorsFor(batch.texts, refusal)))
      }
    }
    return verdicts
  }

  const addVerdict = async (outcome: CollectionResult, verdict: NumberVerdict, isOperator: boolean) => {
    if ('error' in verdict) {
      outcome.error[verdict.number] = verdict.error
      return
    }
    const { number, deleted } = verdict.plan
    const metadata = await numberMetadata(numbers.features, number, isOperator)
    outcome.success[number.id] = itemOf(number, deleted ? { ...metadata, deleted } : metadata)
  }

  return {
    /**
     * Numbers that change an invoice are one commit, so that its payer accepts one sum. Others are committed in
     * batches.
     */
    async apply(texts: readonly string[], plan: PlanNumber, request: Omit<NumberRequest, 'number'>) {
      const result: CollectionResult = { success: {}, error: {} }
      const isOperator = isSuperduper(request.by)
      const takeTurns = createLoopYield()
      const planOne: PlanOne = (view, number) => plan(view, { ...request, number })
      const batches = await planBatches(texts, planOne)
      const isOneCommit = batches.length > 1 && (await isPriced(batches))
      const whole = { texts, planned: batches.flatMap(({ planned }) => planned) }
      for (const verdict of await performEach(isOneCommit ? [whole] : batches, planOne)) {
        await addVerdict(result, verdict, isOperator)
        await takeTurns()
      }
      return result
    },
  }
}
