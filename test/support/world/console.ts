// The console in a real browser, as people of a world see it.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { expectForEverybody, goTo, type Look, useVisits, type Visit } from '../servers/browser.ts'
import type { Engine } from '../servers/databases.ts'
import { engines } from '../servers/postgres.ts'
import { type Outside, type Person, type TestAccount, useWorld, type World } from './world.ts'

const sessionKey = 'crosspoint.session'

/** The stored session of a user in the console. */
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

interface Visitor extends Look {
  /** The address of a proxy, or another name of the server. Default: `http://127.0.0.1` and the port of the server. */
  origin?: string
}

export interface Console {
  world: World
  /** Opens an address of the server without a session. */
  visit(path: string, options?: Visitor): Promise<Visit>
  /** Opens a screen of an account, the person's own unless another is given: `devices/new`. */
  open(person: Person, screen: string, options?: Visitor & { account?: TestAccount }): Promise<Visit>
  /** Checks a page in each look on the first engine of a run, and in one on the second: an engine changes no style. */
  expectForEverybody(page: Page): Promise<void>
  /** Goes from screen to screen of the account without loading the page again, and checks each. */
  expectScreensForEverybody(page: Page, screens: readonly string[]): Promise<void>
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
  const isRepeated = engine !== engines[0]

  const visit = async (path: string, { origin, ...look }: Visitor = {}) => {
    const visited = await visits.open({ time: new Date(world.clock.now()), ...look })
    await visited.page.goto(`${origin ?? `http://127.0.0.1:${world.server.port}`}${path}`)
    return visited
  }

  return {
    world,
    visit,
    expectForEverybody: (page) => expectForEverybody(page, { isRepeated }),
    async expectScreensForEverybody(page, screens) {
      for (const [index, screen] of screens.entries()) {
        await goTo(page, screen)
        await expectForEverybody(page, { isRepeated, isFirst: index === 0 })
      }
    },
    async open(person, screen, { account = person.account, storage = {}, ...visitor } = {}) {
      const session = JSON.stringify(await sessionOf(person))
      return visit(`/a/${account.id}/${screen}`, {
        storage: { ...storage, [sessionKey]: session },
        ...visitor,
      })
    },
  }
}
