import { isSuperduper } from '../../../auth/identity.ts'
import { Failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { retrying } from '../../../storage/store.ts'
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

// What is committed together: enough that each number costs little, not so much that others wait for long.
const numbersAtOnce = 200

export type NumberCollections = ReturnType<typeof createNumberCollections>

/** Several numbers in one request: what fails, fails alone. */
export const createNumberCollections = (numbers: Numbers) => {
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

  const carryOut = async (
    texts: readonly string[],
    plan: Plan,
    request: Collective,
  ): Promise<NumberVerdict[]> => {
    const verdicts = await planAll(texts, plan, request)
    const plans = verdicts.flatMap((verdict) => ('plan' in verdict ? [verdict.plan] : []))
    const performed = (await numbers.perform(...plans)).values()
    return verdicts.map((verdict) =>
      'plan' in verdict ? verdictOn(performed.next().value ?? verdict.plan) : verdict,
    )
  }

  /** A number that the store refuses at the last moment spoils the commit of all: then each goes by itself. */
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
      const [only] = texts
      if (texts.length === 1 && only !== undefined) return [{ number: await keyOf(only), error: told }]
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
    async apply(texts: readonly string[], plan: Plan, request: Collective): Promise<Outcome> {
      const outcome: Outcome = { success: {}, error: {} }
      const isOperator = isSuperduper(request.by)
      const takeTurns = createTurns()
      for (let at = 0; at < texts.length; at += numbersAtOnce) {
        const verdicts = await perform(texts.slice(at, at + numbersAtOnce), plan, request)
        for (const verdict of verdicts) {
          await addVerdict(outcome, verdict, isOperator)
          await takeTurns()
        }
      }
      return outcome
    },
  }
}
