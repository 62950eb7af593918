import type { Connection, Upgrade } from '../../../http/transport/web-socket.ts'
import { describeError } from '../../../lib/log.ts'
import type { DepsOf } from '../../area.ts'
import type { Directory } from './operations.ts'
import { type Conversation, createConversation } from './session.ts'
import { websocketSettings } from './settings.ts'
import { createSubscriptions } from './subscriptions.ts'

interface Deps extends DepsOf<'feed' | 'store' | 'settings' | 'node' | 'log'> {
  directory: Directory
}

const judgeMilliseconds = 1000

export const createWebSocketServer = ({ feed, store, settings, directory, node, log }: Deps) => {
  const subscriptions = createSubscriptions(feed)
  const open = new Set<Conversation>()
  let judging: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  let mostSubscriptions = 0
  let isJudging = false

  const notJudged = (error: unknown) =>
    log.write('warn', 'tokens of WebSockets could not be checked', { error: describeError(error) })

  const judgeAll = async () => {
    await store.fence()
    for (const one of open) if (one.isInUse()) await one.judgeAgain().catch(notJudged)
  }

  const judge = () => {
    if (isJudging) return
    isJudging = true
    running = judgeAll()
      .catch(notJudged)
      .finally(() => {
        isJudging = false
      })
  }

  const upgrade: Upgrade = {
    paths: ['/v2/websockets/connect', '/'],
    application: 'blackhole',

    async limits() {
      const blackhole = await settings.of(websocketSettings)
      mostSubscriptions = blackhole.max_subscriptions
      return {
        connections: blackhole.max_connections,
        connectionsPerAddress: blackhole.max_connections_per_ip,
        unanswered: blackhole.max_unanswered_commands,
        queued: blackhole.max_queued_messages,
        queuedBytes: blackhole.max_queued_bytes,
        dropped: blackhole.max_dropped_messages,
        idleSeconds: blackhole.idle_timeout_s,
        pingSeconds: blackhole.ping_interval_s,
      }
    },

    open(connection: Connection) {
      const deps = { store, directory, subscriptions, node, connection, mostSubscriptions }
      const conversation = createConversation(deps)
      open.add(conversation)
      judging ??= setInterval(judge, judgeMilliseconds).unref()
      return {
        ...conversation,
        end() {
          open.delete(conversation)
          if (open.size === 0) {
            clearInterval(judging)
            judging = undefined
          }
          conversation.end()
        },
      }
    },
  }

  return {
    upgrade,
    async stop() {
      clearInterval(judging)
      await running
      await subscriptions.stop()
    },
  }
}
