import type { Route } from '../http/route.ts'
import type { PostedPage } from '../http/transport/pages.ts'
import type { Upgrade } from '../http/transport/web-socket.ts'
import type { ScheduledJob } from '../jobs/scheduler.ts'
import { frameSettings } from '../settings/documents.ts'
import type { SettingsDocument } from '../settings/keys.ts'
import type { Author } from '../storage/change-set.ts'
import type { Area, AreaDeps, Collected, Contributions, Declared, OffersOf } from './area.ts'

const nothing: Collected = { counts: [], taskActions: [], migrations: {}, schemas: {}, adoptions: {} }

const named = <Value>(
  known: Readonly<Record<string, Value>>,
  added: Readonly<Record<string, Value>> = {},
) => {
  const twice = Object.keys(added).find((name) => Object.hasOwn(known, name))
  if (twice !== undefined) throw new Error(`two areas contribute ${twice}`)
  return { ...known, ...added }
}

const together = (all: Collected, made: Contributions): Collected => ({
  counts: [...all.counts, ...(made.counts ?? [])],
  taskActions: [...all.taskActions, ...(made.taskActions ?? [])],
  migrations: named(all.migrations, made.migrations),
  schemas: named(all.schemas, made.schemas),
  adoptions: named(all.adoptions, made.adoptions),
})

/** The area that has collected each kind of contribution: areas after it must not add to that kind. */
const createCollectors = () => {
  const collectors = new Map<keyof Collected, string>()
  return {
    assertOpen(name: string, made: Contributions) {
      for (const [kind, collector] of collectors)
        if (made[kind]) throw new Error(`${name} contributes ${kind}: list it above ${collector}`)
    },
    note({ name, collects }: Area) {
      for (const kind of collects) collectors.set(kind, name)
    },
  }
}

const byId = (documents: readonly SettingsDocument[] = []) =>
  Object.fromEntries(documents.map(({ id, shape }) => [id, shape]))

const ofFrame: Declared = {
  settings: byId(frameSettings),
  accountSettings: {},
  notices: {},
  describes: {},
  kinds: {},
  events: {},
}

export const declarationsOf = (list: readonly Area[]): Declared =>
  list.reduce(
    (all, { declares }) => ({
      settings: named(all.settings, byId(declares.settings)),
      accountSettings: named(all.accountSettings, byId(declares.accountSettings)),
      notices: named(
        all.notices,
        Object.fromEntries((declares.notices ?? []).map((notice) => [notice.id, notice])),
      ),
      describes: named(all.describes, declares.describes),
      kinds: named(all.kinds, declares.kinds),
      events: named(all.events, declares.events),
    }),
    ofFrame,
  )

interface Assembled<List extends readonly Area[]> {
  offers: OffersOf<List>
  routes: readonly Route[]
  posted: readonly PostedPage[]
  upgrades: readonly Upgrade[]
  scheduledJobs: readonly ScheduledJob[]
  prepare(author: Author): Promise<void>
  stop(): Promise<void>
}

/** Creates the areas in their order, and registers their gates and signal handlers. */
export const assemble = <const List extends readonly Area[]>(
  list: List,
  tools: AreaDeps,
): Assembled<List> => {
  const { store, queue } = tools
  const offers = new Map<Area, unknown>()
  const collectors = createCollectors()
  const all = new Map<string, Contributions>()
  let collected = nothing

  const create = (one: Area) => {
    if (all.has(one.name)) throw new Error(`two areas are called ${one.name}`)
    const missing = one.needs.find((needed) => !offers.has(needed))
    if (missing) throw new Error(`${one.name} needs ${missing.name}, which must be above it in the list`)
    const made = one.create(tools, (needed) => offers.get(needed), collected)
    collectors.assertOpen(one.name, made)
    collectors.note(one)
    collected = together(collected, made)
    offers.set(one, made.offers)
    all.set(one.name, made)
  }

  for (const one of list) create(one)
  const contributions = [...all.values()]
  const routes = contributions.flatMap((made) => made.routes ?? [])
  const derived = contributions.flatMap((made) => made.derives?.(routes) ?? [])
  for (const { hears = [], gates = [] } of contributions) {
    store.hear(...hears)
    for (const gate of gates) store.guard(gate)
  }
  return {
    offers: Object.fromEntries(Array.from(offers, ([{ name }, offer]) => [name, offer])) as OffersOf<List>,
    routes: [...routes, ...derived],
    scheduledJobs: contributions.flatMap(({ jobs = [] }) => jobs.map(queue.scheduled)),
    posted: contributions.flatMap(({ posted = [] }) => posted),
    upgrades: contributions.flatMap(({ upgrades = [] }) => upgrades),
    async prepare(author) {
      for (const { prepare } of contributions) await prepare?.(author)
    },
    async stop() {
      for (const { stop } of contributions) await stop?.()
    },
  }
}
