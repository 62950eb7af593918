import { isSuperduper } from '../../../auth/identity.ts'
import { Failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { retrying } from '../../../storage/store.ts'
import type { Foresight } from '../../tasks/operations.ts'
import { itemOf, metadataOf } from '../entity.ts'
import { type NumberError, numberErrorOf } from '../number-errors.ts'
import type { NumberPlan, NumberRequest, Numbers, NumberView, Performed } from '../operations.ts'
import { createTurns } from '../turns.ts'

/** What happened to each number, in the order in which they were asked for. */
interface Outcome {
  success: Record<string, Json>
  error: Record<string, NumberError>
}

/** What is to be done with one number of a collection. */
export type Plan = (view: NumberView, request: NumberRequest) => Promise<NumberPlan>

type Collective = Omit<NumberRequest, 'number'>

type NumberVerdict = { number: string; plan: NumberPlan } | { number: string; error: NumberError }

// Numbers in one commit where nothing is charged: enough that each costs little, not so many that others wait for long.
const numbersAtOnce = 200

const piecesOf = (texts: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => texts.slice(at * size, (at + 1) * size))

const plansOf = (verdicts: readonly NumberVerdict[]) =>
  verdicts.flatMap((verdict) => ('plan' in verdict ? [verdict.plan] : []))

export type NumberCollections = ReturnType<typeof createNumberCollections>

/** Several numbers in one request: what fails, fails alone. */
export const createNumberCollections = (numbers: Numbers, foresight: Foresight) => {
  const keyOf = async (text: string) => {
    const { normalize, isReconcilable } = await numbers.planning.rules()
    const number = normalize(text)
    return isReconcilable(number) ? number : text
  }

  const verdictOn = (plan: Performed): NumberVerdict => {
    const error = plan.refusal && numberErrorOf(plan.refusal)
    return error ? { number: plan.number.id, error } : { number: plan.number.id, plan }
  }

  const judge = async (view: NumberView, plan: Plan, request: NumberRequest): Promise<NumberVerdict> => {
    try {
      const planned = await plan(view, request)
      return { number: planned.number.id, plan: planned }
    } catch (error) {
      const told = error instanceof Failure ? numberErrorOf(error) : undefined
      if (!told) throw error
      return { number: await keyOf(request.number), error: told }
    }
  }

  const planAll = async (texts: readonly string[], plan: Plan, request: Collective) => {
    const view = await numbers.preload(texts)
    const takeTurns = createTurns()
    const verdicts: NumberVerdict[] = []
    for (const number of texts) {
      verdicts.push(await judge(view, plan, { ...request, number }))
      await takeTurns()
    }
    return verdicts
  }

  /** Whether an invoice changes if all of it is carried out. Plans everything; writes nothing. */
  const isPriced = async (texts: readonly string[], plan: Plan, request: Collective) => {
    let foreseen: unknown
    for (const piece of piecesOf(texts, numbersAtOnce)) {
      const plans = plansOf(await planAll(piece, plan, request))
      foreseen = await foresight.add(
        foreseen,
        plans.flatMap(({ set }) => (set ? [set] : [])),
      )
    }
    return (await foresight.priced(foreseen)).length > 0
  }

  const carryOut = async (
    texts: readonly string[],
    plan: Plan,
    request: Collective,
  ): Promise<NumberVerdict[]> => {
    const verdicts = await planAll(texts, plan, request)
    const performed = (await numbers.perform(...plansOf(verdicts))).values()
    return verdicts.map((verdict) =>
      'plan' in verdict ? verdictOn(performed.next().value ?? verdict.plan) : verdict,
    )
  }

  /**
   * If the commit fails because of one number, each number is committed separately. Numbers that change an invoice are
   * not: consent is for the sum, so all of them fail with the error of that number.
   */
  const perform = async (
    texts: readonly string[],
    plan: Plan,
    request: Collective,
  ): Promise<NumberVerdict[]> => {
    try {
      return await retrying(() => carryOut(texts, plan, request))
    } catch (error) {
      const told = error instanceof Failure ? numberErrorOf(error) : undefined
      if (!told) throw error
      if (texts.length === 1 || (await isPriced(texts, plan, request)))
        return Promise.all(texts.map(async (text) => ({ number: await keyOf(text), error: told })))
      const each: NumberVerdict[] = []
      for (const text of texts) each.push(...(await perform([text], plan, request)))
      return each
    }
  }

  const addVerdict = async (outcome: Outcome, verdict: NumberVerdict, isOperator: boolean) => {
    if ('error' in verdict) {
      outcome.error[verdict.number] = verdict.error
      return
    }
    const { number, deleted } = verdict.plan
    const metadata = await metadataOf(numbers.features, number, isOperator)
    outcome.success[number.id] = itemOf(number, deleted ? { ...metadata, deleted } : metadata)
  }

  return {
    /**
     * Carries out the plan for each number. What changes an invoice is one commit, so that its payer is asked once, for
     * the sum; the rest is committed in pieces.
     */
    async apply(texts: readonly string[], plan: Plan, request: Collective): Promise<Outcome> {
      const outcome: Outcome = { success: {}, error: {} }
      const isOperator = isSuperduper(request.by)
      const takeTurns = createTurns()
      const isOneCommit = texts.length <= numbersAtOnce || (await isPriced(texts, plan, request))
      for (const piece of piecesOf(texts, isOneCommit ? texts.length : numbersAtOnce)) {
        for (const verdict of await perform(piece, plan, request)) {
          await addVerdict(outcome, verdict, isOperator)
          await takeTurns()
        }
      }
      return outcome
    },
  }
}
