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

type Collective = Omit<NumberRequest, 'number'>

type NumberVerdict = { number: string; plan: NumberPlan } | { number: string; error: NumberError }

interface CollectionBatch {
  texts: readonly string[]
  planned: readonly NumberVerdict[]
}

const paymentErrors: Readonly<Record<string, NumberError>> = {
  charges_not_accepted: { code: 402, error: 'accept_charges', message: 'accept charges' },
  not_enough_credit: { code: 402, error: 'not_enough_credit', message: 'not enough credit' },
  billing_issue: { code: 402, error: 'billing_issue', message: 'billing issue' },
}

const paymentErrorOf = ({ kind }: Failure) => paymentErrors[kind.name]

// Numbers of one commit where nothing is charged: more would block other writers for too long.
const numbersPerCommit = 200

const batchesOf = (texts: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => texts.slice(at * size, (at + 1) * size))

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

  const judge = async (
    view: NumberView,
    plan: PlanNumber,
    request: NumberRequest,
  ): Promise<NumberVerdict> => {
    try {
      const planned = await plan(view, request)
      return { number: planned.number.id, plan: planned }
    } catch (error) {
      const told = error instanceof Failure ? numberErrorOf(error) : undefined
      if (!told) throw error
      return { number: await keyOf(request.number), error: told }
    }
  }

  const planAll = async (texts: readonly string[], plan: PlanNumber, request: Collective) => {
    const view = await numbers.preload(texts)
    const takeTurns = createLoopYield()
    const verdicts: NumberVerdict[] = []
    for (const number of texts) {
      verdicts.push(await judge(view, plan, { ...request, number }))
      await takeTurns()
    }
    return verdicts
  }

  const planPieces = async (
    texts: readonly string[],
    plan: PlanNumber,
    request: Collective,
  ): Promise<CollectionBatch[]> => {
    const pieces: CollectionBatch[] = []
    for (const piece of batchesOf(texts, numbersPerCommit))
      pieces.push({ texts: piece, planned: await planAll(piece, plan, request) })
    return pieces
  }

  const isPriced = async (pieces: readonly CollectionBatch[]) => {
    let foreseen: unknown
    for (const { planned } of pieces) {
      const sets = plansOf(planned).flatMap(({ set }) => (set ? [set] : []))
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
  const perform = async (
    { texts, planned }: CollectionBatch,
    plan: PlanNumber,
    request: Collective,
  ): Promise<NumberVerdict[]> => {
    try {
      return await retrying(async (attempt) =>
        carryOut(attempt === 1 ? planned : await planAll(texts, plan, request)),
      )
    } catch (error) {
      const told = error instanceof Failure ? numberErrorOf(error) : undefined
      if (!told) throw error
      if (texts.length === 1 || (await isPriced(await planPieces(texts, plan, request))))
        return errorsFor(texts, told)
      return performEach(
        texts.map((text) => ({ texts: [text] })),
        plan,
        request,
      )
    }
  }

  /**
   * Commits each batch separately. If a payer is refused in between, the batches before stay done and the refusal
   * is the error of the others.
   */
  const performEach = async (
    pieces: readonly (Pick<CollectionBatch, 'texts'> & { planned?: CollectionBatch['planned'] })[],
    plan: PlanNumber,
    request: Collective,
  ): Promise<NumberVerdict[]> => {
    const verdicts: NumberVerdict[] = []
    for (const { texts, planned = await planAll(texts, plan, request) } of pieces) {
      try {
        verdicts.push(...(await perform({ texts, planned }, plan, request)))
      } catch (error) {
        const refusal = error instanceof Failure ? paymentErrorOf(error) : undefined
        if (!refusal || plansOf(verdicts).length === 0) throw error
        verdicts.push(...(await errorsFor(texts, refusal)))
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
    async apply(texts: readonly string[], plan: PlanNumber, request: Collective): Promise<CollectionResult> {
      const outcome: CollectionResult = { success: {}, error: {} }
      const isOperator = isSuperduper(request.by)
      const takeTurns = createLoopYield()
      const pieces = await planPieces(texts, plan, request)
      const isOneCommit = pieces.length > 1 && (await isPriced(pieces))
      const commits = isOneCommit ? [{ texts, planned: pieces.flatMap(({ planned }) => planned) }] : pieces
      for (const verdict of await performEach(commits, plan, request)) {
        await addVerdict(outcome, verdict, isOperator)
        await takeTurns()
      }
      return outcome
    },
  }
}
