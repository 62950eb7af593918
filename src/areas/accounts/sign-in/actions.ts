import type { Call } from '../../../http/route.ts'
import { actionRequired, failure, invalidAction } from '../../../lib/failure.ts'

/** The `action` of a request, next to its data. */
export const assertAction = (call: Pick<Call, 'request'>, ...actions: string[]) => {
  const action = call.request.value('action')
  if (action === undefined) throw failure(actionRequired, {})
  if (!actions.includes(String(action))) throw failure(invalidAction, {})
  return String(action)
}
