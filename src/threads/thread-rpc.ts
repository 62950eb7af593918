import type { MessagePort, Transferable, Worker } from 'node:worker_threads'
import { messageOf } from '../lib/error-facts.ts'

type Message =
  | { asks: number; name: string; content: unknown }
  | { answers: number; content?: unknown; error?: string }

interface Answer {
  content?: unknown
  transfer?: readonly Transferable[]
}

/** Handlers by name. */
export type ThreadReplies = Readonly<Record<string, (content: never) => Promise<Answer> | Answer>>

interface Waiting {
  resolve(content: unknown): void
  reject(error: Error): void
}

const threadEnded = () => new Error('the other thread has ended')

export type ThreadRpc = ReturnType<typeof createThreadRpc>

export const createThreadRpc = (port: MessagePort | Worker, answers: ThreadReplies) => {
  const waiting = new Map<number, Waiting>()
  let last = 0
  let hasLeft = false

  const answer = async (asks: number, name: string, content: unknown) => {
    try {
      const give = answers[name]
      if (!give) throw new Error(`no handler for ${name}`)
      const { content: given, transfer = [] } = await give(content as never)
      port.postMessage({ answers: asks, content: given } satisfies Message, transfer)
    } catch (error) {
      port.postMessage({ answers: asks, error: messageOf(error) } satisfies Message)
    }
  }

  port.on('message', (message: Message) => {
    if ('asks' in message) return void answer(message.asks, message.name, message.content)
    const asked = waiting.get(message.answers)
    waiting.delete(message.answers)
    if (message.error === undefined) asked?.resolve(message.content)
    else asked?.reject(new Error(message.error))
  })

  const leave = () => {
    hasLeft = true
    const left = [...waiting.values()]
    waiting.clear()
    for (const one of left) one.reject(threadEnded())
  }
  port.on('exit', leave)
  port.on('close', leave)

  return {
    /** Fails with the message of the other thread. */
    ask: <T>(name: string, content?: unknown): Promise<T> =>
      new Promise((resolve, reject) => {
        if (hasLeft) return reject(threadEnded())
        last += 1
        waiting.set(last, { resolve: (found) => resolve(found as T), reject })
        port.postMessage({ asks: last, name, content } satisfies Message)
      }),
  }
}
