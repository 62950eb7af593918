import { createFollower } from '../../../events/follower.ts'
import { createMark } from '../../../events/marks.sql.ts'
import type { Scheduler } from '../../../jobs/scheduler.ts'
import { describeError } from '../../../lib/log.ts'
import { eventSettings } from '../../../settings/documents.ts'
import type { Statement } from '../../../storage/db.ts'
import type { DepsOf } from '../../area.ts'
import type { Outages, Watched } from '../alerts/outages.ts'
import { alertOf, type Broker, createBroker, hostOf, type Target } from './broker.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'feed' | 'log' | 'calls'> {
  scheduler: Pick<Scheduler, 'isHeld'>
  alerts: { outagesOf(watched: Watched): Outages }
}

const maxEventsPerPublish = 200
// After a crash, events since the last save are published again.
const cursorMs = 250

interface BusState {
  guard: Statement
  target: Target
  broker: Broker
  /** The last confirmed sequence. */
  position: number
  /** The one that the store has. */
  saved: number
  timer: NodeJS.Timeout | undefined
  /** The process stops: a closed connection is not an outage. */
  isHurried: boolean
}

/** Publishes every event to a broker, in the order of the feed, from the last confirmed one. Unconfirmed events are published again. */
export const createMessageBus = (tools: Deps) => {
  const { store, settings, feed, log, calls } = tools
  const mark = createMark(store, 'message_bus')
  const outages = tools.alerts.outagesOf({
    requestId: 'message_bus',
    noun: 'the message bus',
    causeOf: () => 'message_bus',
    alertOf,
  })

  const wanted = async (): Promise<Target | undefined> => {
    const { url, exchange } = (await settings.of(eventSettings)).amqp
    return url === undefined ? undefined : { url, exchange }
  }

  const save = async (shift: BusState) => {
    if (shift.saved === shift.position) return
    const { position } = shift
    await store.writeUnrecorded([mark.moveTo(position), shift.guard])
    shift.saved = position
  }

  const saveSoon = (shift: BusState) => {
    shift.timer ??= setTimeout(() => {
      shift.timer = undefined
      save(shift).catch((error) =>
        log.write('warn', 'the position of the message bus was not saved', { error: describeError(error) }),
      )
    }, cursorMs).unref()
  }

  const begin = async (target: Target, guard: Statement): Promise<BusState> => {
    await outages.withdraw(hostOf(target))
    const saved = await mark.read()
    const broker = createBroker(target, calls)
    return { guard, target, broker, position: saved, saved, timer: undefined, isHurried: false }
  }

  /** After a failure it connects again and continues with the last confirmed event. */
  const publish = async (shift: BusState, events: Parameters<Broker['publish']>[0]) => {
    const host = hostOf(shift.target)
    try {
      await shift.broker.publish(events)
    } catch (error) {
      if (shift.isHurried) return false
      shift.broker.close()
      shift.broker = createBroker(shift.target, calls)
      await outages.failed(host, error instanceof Error ? error.message : String(error))
      return false
    }
    await outages.reached(host)
    return true
  }

  const publishNext = async (shift: BusState): Promise<boolean> => {
    const events = await feed.all(shift.position, maxEventsPerPublish)
    const last = events.at(-1)
    if (!last || !(await publish(shift, events))) return false
    shift.position = last.sequence
    saveSoon(shift)
    return true
  }

  return createFollower(tools, {
    name: 'message_bus',
    complaint: 'events could not be published',
    gatherMs: 8,
    wanted,
    begin,
    next: publishNext,
    hurry(shift) {
      shift.isHurried = true
      shift.broker.close()
    },
    async end(shift) {
      shift.broker.close()
      clearTimeout(shift.timer)
      try {
        await save(shift)
      } finally {
        await outages.forget(hostOf(shift.target))
      }
    },
  }).job
}
