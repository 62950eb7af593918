import type { Socket } from 'node:net'
import type pg from 'pg'

/** The socket of a connection, of which pg's types do not tell. */
export const streamOf = (client: pg.Client) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

interface Patience {
  owed: number
  timer: NodeJS.Timeout
}

/** Why a server may be silent: asked each time that patience ends, it waits for as long again. */
export type Excuse = (client: pg.Client) => Promise<boolean>

/** A network may lose a server without a word: whoever waits in vain breaks the connection, which fails all that is in flight. */
export const createWatch = (patienceMilliseconds: number, isExcused?: Excuse) => {
  const patience = new WeakMap<pg.Client, Patience>()

  const giveUp = async (client: pg.Client, state: Patience) => {
    const excused = await isExcused?.(client).catch(() => false)
    // The answer may have come meanwhile.
    if (patience.get(client) !== state) return
    if (excused) state.timer.refresh()
    else streamOf(client).destroy(new Error('the database server does not answer'))
  }

  const start = (client: pg.Client): Patience => {
    const started = {
      owed: 0,
      timer: setTimeout(() => void giveUp(client, started), patienceMilliseconds),
    }
    patience.set(client, started)
    return started
  }

  const answered = (client: pg.Client) => {
    const state = patience.get(client)
    if (!state) return
    state.owed -= 1
    if (state.owed > 0) return void state.timer.refresh()
    clearTimeout(state.timer)
    patience.delete(client)
  }

  return <T>(client: pg.Client, answer: Promise<T>): Promise<T> => {
    const state = patience.get(client) ?? start(client)
    state.owed += 1
    const settle = () => answered(client)
    answer.then(settle, settle)
    return answer
  }
}
