// A new area is its folder and its line in areas/index.ts. Here the folder is the first half of this file.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { accountsArea } from '../src/areas/accounts/accounts/area.ts'
import type { Accounts } from '../src/areas/accounts/accounts/operations.ts'
import { accountDeleted } from '../src/areas/accounts/accounts/signals.ts'
import { type Area, type AreaDeps, area } from '../src/areas/area.ts'
import { assemble, declarationsOf } from '../src/areas/assemble.ts'
import { areas } from '../src/areas/index.ts'
import type { AccountRecord } from '../src/auth/identity.ts'
import { accountAdmin } from '../src/auth/policies.ts'
import { collectionListing } from '../src/http/response/listing.ts'
import { ListResponse, made } from '../src/http/response/responses.ts'
import { get, put, type Route } from '../src/http/route.ts'
import type { JobKind } from '../src/jobs/queue.ts'
import { list, must, open, text } from '../src/lib/schema.ts'
import type { Notice } from '../src/mail/notices.ts'
import { frameSettings } from '../src/settings/documents.ts'
import { type SettingsDocument, section, settingsDocument } from '../src/settings/keys.ts'
import { type Author, ChangeSet, conflict } from '../src/storage/change-set.ts'
import { createCollection } from '../src/storage/collection.ts'
import { on } from '../src/storage/signal.ts'
import { describeAnyEngine, useWorld } from './support/world/world.ts'

// settings.ts
const postcardSettings = settingsDocument(
  'postcards',
  section('Postcards', { longest: Type.Integer({ minimum: 1, default: 140, description: 'Letters' }) }),
)

// schema.ts
const Postcard = open({ says: must(text(1, 140)) })
const PostcardAnswer = open({ id: must(text(32, 32)), says: must(text(1, 140)) })

interface PostcardDoc {
  says: string
}

// operations.ts
const createPostcards = ({ store, settings }: AreaDeps, accounts: Pick<Accounts, 'find'>) => {
  const cards = createCollection<PostcardDoc, object>(store, {
    kind: 'postcard',
    sortKey: (_doc, id) => id,
    row: ({ says }) => ({ says }),
  })
  const delivered: string[] = []
  const later = () => store.clock.now() + 1000

  const deliverer: JobKind<{ says: string }, string | undefined> = {
    kind: 'postcard',
    ask: async ({ accountId }) => (await accounts.find(accountId))?.doc.name,
    conclude({ payload }, name) {
      delivered.push(`${name}: ${payload.says}`)
      return { state: 'done' }
    },
  }

  return {
    cards,
    deliverer,
    delivered,

    async write(author: Author, accountId: string, doc: PostcardDoc) {
      const { longest } = await settings.of(postcardSettings)
      const says = doc.says.slice(0, longest)
      const card = cards.draft(accountId, { doc: { says }, hidden: {} })
      const set = new ChangeSet(author)
      cards.insert(set, card)
      set.job({ kind: 'postcard', id: card.id, accountId, payload: doc, dueAt: later() })
      await store.commit(set)
      return card
    },

    /** Goes to the former parent account. */
    sayGoodbye(set: ChangeSet, { id, doc, hidden }: AccountRecord) {
      const payload = { says: `${doc.name} has left` }
      set.job({ kind: 'postcard', id, accountId: hidden.tree.at(-1) ?? id, payload, dueAt: later() })
    },
  }
}

type Postcards = ReturnType<typeof createPostcards>

// routes.ts
const postcardRoutes = ({ cards, write }: Postcards): Route[] => [
  put('/v2/accounts/{account_id}/postcards', {
    summary: 'Write a postcard',
    allow: accountAdmin,
    body: Postcard,
    answers: PostcardAnswer,
    run: async ({ author, account, data }) => made(await write(author, account.id, data)),
  }),
  get('/v2/accounts/{account_id}/postcards', {
    summary: 'List the postcards of an account',
    allow: accountAdmin,
    answers: PostcardAnswer,
    list: true,
    run: ({ path }) => new ListResponse(collectionListing(cards, path.account_id)),
  }),
]

// area.ts
const createPostcardsArea = () => {
  const seen = { delivered: [] as string[], jobRuns: 0 }
  const defined = area({
    name: 'postcards',
    kinds: { postcard: 'postcards' },
    needs: { accounts: accountsArea },
    settings: [postcardSettings],
    create(tools, { accounts }) {
      const postcards = createPostcards(tools, accounts)
      seen.delivered = postcards.delivered
      return {
        offers: postcards,
        routes: postcardRoutes(postcards),
        jobs: [
          postcards.deliverer,
          {
            name: 'postcard counting',
            everySeconds: 3600,
            async run() {
              seen.jobRuns += 1
            },
          },
        ],
        hears: [on(accountDeleted, postcards.sayGoodbye)],
      }
    },
  })
  return { seen, defined }
}

describeAnyEngine('an area that is added by one line', (engine) => {
  const { seen, defined } = createPostcardsArea()
  const world = useWorld(engine, undefined, undefined, { more: [defined] })

  const written = async () => {
    const account = await world.account(world.reseller)
    const answer = await world.ross.put(`${account.path}/postcards`, { says: 'Hello' })
    return { account, answer, id: answer.data.id }
  }

  it('answers at its routes', async () => {
    const { account, answer, id } = await written()
    expect(answer).toSucceedWith({ id, says: 'Hello' })
    expect(await world.ross.get(`${account.path}/postcards`)).toSucceedWith([{ id, says: 'Hello' }])
    expect(await world.rex.get(`${account.path}/postcards`)).toFailWith(403, 'forbidden')
  })

  it('follows its settings, which are validated like all others', async () => {
    const config = '/v2/system_configs/postcards'
    const { operator } = world
    expect(await operator.get(config)).toMatchObject({ data: { default: { longest: 140 } } })
    expect(await operator.patch(config, { default: { longest: 0 } })).toFailWith(400, 'validation error')
    expect(await operator.patch(config, { default: { longest: 2 } })).toMatchObject({ status: 200 })
    const { answer, id } = await written()
    expect(answer).toSucceedWith({ id, says: 'He' })
    expect(await operator.delete(config)).toMatchObject({ status: 200 })
  })

  it('has its jobs and its scheduled jobs run', async () => {
    const { account } = await written()
    world.clock.advance({ seconds: 1 })
    await world.server.scheduler.runNow('postcard')
    expect(seen.delivered).toContain(`${account.name}: Hello`)
    const before = seen.jobRuns
    await world.server.scheduler.runNow('postcard counting')
    expect(seen.jobRuns).toBe(before + 1)
  })

  it('handles the signals of others; its writes are stored with those of the signal, or not at all', async () => {
    const account = await world.account(world.reseller, { name: 'Leaver' })
    const { store, areas } = world.server
    const farewells = async () => {
      world.clock.advance({ seconds: 1 })
      await world.server.scheduler.runNow('postcard')
      return seen.delivered.filter((text) => text === 'Reseller: Leaver has left').length
    }
    const refused = new ChangeSet({ requestId: 'test' })
      .tell(accountDeleted, await areas.accounts.get(account.id))
      .record({ accountId: account.id, kind: 'postcard', id: 'x', action: 'created' })
      .run("DELETE FROM work WHERE kind = 'nothing'", [], { rows: 1, orElse: conflict })
    await expect(store.commit(refused)).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await farewells()).toBe(0)
    expect(await world.ross.delete(account.path)).toMatchObject({ status: 200 })
    expect(await farewells()).toBe(1)
  })
})

const byId = (a: Notice, b: Notice) => (a.id < b.id ? -1 : 1)

/** All exports of these files whose names have this ending. Settings of accounts repeat settings of the system. */
const everyExportOf = async (files: string, ending: string): Promise<object[]> => {
  const root = join(import.meta.dirname, '..')
  const modules = await Promise.all(globSync(files, { cwd: root }).map((path) => import(join(root, path))))
  return modules.flatMap((module: Record<string, object>) =>
    Object.entries(module).flatMap(([name, value]) =>
      name.endsWith(ending) && !name.endsWith('AccountSettings') ? [value] : [],
    ),
  )
}

describe('a list of areas', () => {
  // Nothing is made of it before the list is found to be wrong.
  const tools = {} as AreaDeps
  const base = area({ name: 'base', create: () => ({ offers: { say: () => 'base' } }) })
  const above: Area = area({
    name: 'above',
    needs: { base },
    create: (_tools, needs) => ({ offers: needs.base.say() }),
  })
  const collector = area({ name: 'collector', collects: ['schemas'], create: () => ({}) })
  const contributor = (name: string) => area({ name, create: () => ({ schemas: { cards: list(Postcard) } }) })

  it('has what an area needs above it', () => {
    expect(() => assemble([above, base], tools)).toThrow(
      'above needs base, which must be above it in the list',
    )
  })

  it('collects only from areas that are listed above it', () => {
    expect(() => assemble([collector, contributor('late')], tools)).toThrow(
      'late contributes schemas: list it above collector',
    )
  })

  it('has each name once', () => {
    expect(() => assemble([contributor('one'), contributor('two')], tools)).toThrow(
      'two areas contribute cards',
    )
    expect(() => assemble([base, area({ name: 'base', create: () => ({}) })], tools)).toThrow(
      'two areas are called base',
    )
  })

  it('declares all exports in the folders of its areas', async () => {
    const { settings, notices } = declarationsOf(areas)
    const written = await everyExportOf('src/{areas/*/*,payment,switch}/settings.ts', 'Settings')
    expect(settings).toEqual(
      Object.fromEntries(
        [...frameSettings, ...(written as SettingsDocument[])].map(({ id, shape }) => [id, shape]),
      ),
    )
    const failures = await everyExportOf('src/{areas/*/*,payment,switch,lib}/{failure,failures}.ts', '')
    const kinds = failures.flatMap((one) => ('answer' in one && 'name' in one ? [one.name] : []))
    expect(kinds).toContain('number_exists')
    expect(kinds).toEqual([...new Set(kinds)])
    const sent = await everyExportOf('src/areas/*/*/notices.ts', 'Notice')
    expect(Object.values(notices).toSorted(byId)).toEqual((sent as Notice[]).toSorted(byId))
  })
})
