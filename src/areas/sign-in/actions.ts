import type { Call } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'

/** Some paths change by an `action` beside the data. */
export const assertAction = (call: Pick<Call, 'request'>, ...actions: string[]) => {
  const action = call.request.value('action')
  if (action === undefined) throw failure('action_required', {})
  if (!actions.includes(String(action))) throw failure('invalid_action', {})
  return String(action)
}
