// The console in a real browser, as people of a world see it.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { expectForEverybody, type Look, useVisits, type Visit } from './browser.ts'
import type { Engine } from './databases.ts'
import { engines } from './postgres.ts'
import { type Outside, type Person, type TestAccount, useWorld, type World } from './world.ts'

const sessionKey = 'crosspoint.session'

/** What the console keeps of somebody who has signed in. */
const sessionOf = async (person: Person) => {
  const { data } = await person.get('/v2/token_auth')
  const { id: userId, account, token } = person
  return {
    token,
    accountId: account.id,
    userId,
    login: { ...data, account_id: account.id, owner_id: userId },
    openedAt: Date.now(),
  }
}

export interface Console {
  world: World
  /** Opens an address of the server in a new window, as nobody. */
  visit(path: string, look?: Look): Promise<Visit>
  /** Opens a screen of an account, the person's own unless another is given, in a new window: `devices/new`. */
  open(person: Person, screen: string, options?: Look & { account?: TestAccount }): Promise<Visit>
  /** Looks at a screen in every way on the first store of a run, and in one on the second: a store changes no style. */
  expectForEverybody(page: Page): Promise<void>
}

/** A server with people in it, and windows to look at its console. After each test nothing has gone wrong in any of them. */
export const useConsole = (
  engine: Engine,
  settle?: (world: World) => Promise<void>,
  outside?: Outside,
  changed?: Parameters<typeof useWorld>[3],
): Console => {
  const world = useWorld(engine, settle, outside, changed)
  const visits = useVisits()

  const visit = async (path: string, look: Look = {}) => {
    const visited = await visits.open({ time: new Date(world.clock.now()), ...look })
    await visited.page.goto(`http://127.0.0.1:${world.server.port}${path}`)
    return visited
  }

  return {
    world,
    visit,
    expectForEverybody: (page) => expectForEverybody(page, { once: engine !== engines[0] }),
    async open(person, screen, { account = person.account, ...look } = {}) {
      const visited = await visits.open({ time: new Date(world.clock.now()), ...look })
      const kept = JSON.stringify(await sessionOf(person))
      // Frames in the page may not have a storage, and need none.
      await visited.context.addInitScript(
        ([key, text]) => {
          if (window === window.top) localStorage.setItem(key, text)
        },
        [sessionKey, kept] as const,
      )
      await visited.page.goto(`http://127.0.0.1:${world.server.port}/a/${account.id}/${screen}`)
      return visited
    },
  }
}
