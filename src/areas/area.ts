import type { Static, TSchema } from 'typebox'
import type { PasswordHasher } from '../auth/deriving/deriver.ts'
import type { Keyring } from '../auth/keyring.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Dns } from '../dns/dns.ts'
import type { Feed } from '../events/feed.ts'
import type { Refusals } from '../events/refusals.ts'
import type { Route } from '../http/route.ts'
import type { PostedPage } from '../http/transport/pages.ts'
import type { Upgrade } from '../http/transport/web-socket.ts'
import type { Afterwards } from '../jobs/afterwards.ts'
import type { Leases } from '../jobs/leases.ts'
import type { AnyJob, Queue } from '../jobs/queue.ts'
import type { Scheduler } from '../jobs/scheduler.ts'
import type { StepwiseWork } from '../jobs/steps.ts'
import type { Problems } from '../lib/failure.ts'
import type { Handover, Json } from '../lib/json.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Place } from '../lib/removal.ts'
import type { Mail } from '../mail/mail.ts'
import type { Definitions, Notice } from '../mail/notices.ts'
import type { ObjectStore } from '../object-store/object-store.ts'
import type { Calls } from '../outgoing/calls.ts'
import type { Outgoing } from '../outgoing/client.ts'
import type { Documents, SettingsDocument } from '../settings/keys.ts'
import type { Settings } from '../settings/settings.ts'
import type { Author } from '../storage/change-set.ts'
import type { SignalHandler } from '../storage/signal.ts'
import type { Gate, Store } from '../storage/store.ts'
import type { MediaSwitch } from '../switch/kamailio/kamailio.ts'
import type { Importer } from './adoption.ts'
import type { TaskAction } from './work/tasks/actions.ts'

/**
 * Validates data against a schema: casts texts where allowed. `sound` lacks the invalid keys, `places` are the
 * smallest invalid values.
 */
export type Validate = <S extends TSchema>(
  schema: S,
  data: unknown,
  handover?: Handover,
) => Promise<{ value: Static<S>; sound: object; problems: Problems; places?: () => readonly Place[] }>

interface Declarations {
  settings: readonly SettingsDocument[]
  /** Documents whose values each account can replace, with the keys that are read there. */
  accountSettings: readonly SettingsDocument[]
  notices: readonly Notice[]
  /** The first words of its paths behind the account, and what each is about. */
  describes: Texts
  /** The kinds of its records, and what each is. Their changes are events: `device.edited`. */
  kinds: Texts
  /**
   * Its other events by type. "Change" replaces `<kind>.<action>` of a change, "Extra" comes in addition. The text also
   * says which record the event names, and what `after` contains.
   */
  events: Texts
}

type Texts = Readonly<Record<string, string>>

export interface Declared {
  settings: Documents
  accountSettings: Documents
  notices: Definitions
  describes: Texts
  kinds: Texts
  events: Texts
}

/** What the server passes to areas. */
export interface AreaDeps {
  declared: Declared
  store: Store
  settings: Settings
  keyring: Keyring
  deriver: PasswordHasher
  tokens: Tokens
  mediaSwitch: MediaSwitch
  /** The name of this process: its settings section applies to it alone. */
  node: string
  validate: Validate
  /** What is wrong with the files that TLS settings name, by key. */
  tlsProblems(section: Json): Promise<Problems>
  mail: Mail
  dns: Dns
  outgoing: Outgoing
  calls: Calls
  /** Archive of older call records; undefined: none. */
  callArchive: ObjectStore | undefined
  afterwards: Afterwards
  leases: Leases
  scheduler: Scheduler
  queue: Queue
  feed: Feed
  refusals: Refusals
  log: Log
  metrics: Metrics
}

/** The dependencies of a factory. */
export type DepsOf<Name extends keyof AreaDeps> = Pick<AreaDeps, Name>

/** Counts the records of one area again, in batches: [category, item], and the number if it is not one. */
export type CountSource = (
  accountId: string,
) => AsyncIterable<readonly (readonly [category: string, item: string, count?: number])[]>

/** A repair of accounts. */
export interface Migration {
  description: string
  plan: StepwiseWork
  accountsAtOnce: number
}

/** What an area collects from those above it in the list. */
export interface Collected {
  /** Sources of the quantities of accounts. */
  counts: readonly CountSource[]
  taskActions: readonly TaskAction[]
  /** Migrations of accounts, by ID. */
  migrations: Readonly<Record<string, Migration>>
  /** The shapes of what clients write, by the names that clients know. */
  schemas: Readonly<Record<string, TSchema>>
  /** Importers of records, by type. */
  adoptions: Readonly<Record<string, Importer>>
}

/** What an area adds to the server. */
export interface Contributions extends Partial<Collected> {
  routes?: readonly Route[]
  /** Routes that follow from those of all areas. */
  derives?(routes: readonly Route[]): readonly Route[]
  /** Pages that machines post to, next to the API. */
  posted?: readonly PostedPage[]
  upgrades?: readonly Upgrade[]
  jobs?: readonly AnyJob[]
  /** Handlers of signals of other areas. */
  hears?: readonly SignalHandler[]
  /** They can reject change sets. */
  gates?: readonly Gate[]
  /** Writes what the store needs before the first request. */
  prepare?(author: Author): Promise<void>
  stop?(): Promise<void>
}

type OfferOfNeeded = (needed: Area) => unknown

export interface Area<Name extends string = string, Offer = unknown> {
  name: Name
  needs: readonly Area[]
  collects: readonly (keyof Collected)[]
  declares: Partial<Declarations>
  create(
    tools: AreaDeps,
    offerOf: OfferOfNeeded,
    collected: Collected,
  ): Contributions & { offers?: Offer | undefined }
}

type OfferOf<Defined> = Defined extends Area<string, infer Offer> ? Offer : never

type Needs = Readonly<Record<string, Area>>

type OffersNeeded<Needed extends Needs> = { readonly [Key in keyof Needed]: OfferOf<Needed[Key]> }

export type OffersOf<List extends readonly Area[]> = {
  readonly [One in List[number] as One['name']]: OfferOf<One>
}

interface Definition<Name extends string, Needed extends Needs, Kind extends keyof Collected, Offer>
  extends Partial<Declarations> {
  name: Name
  /** The areas that it uses, which are above it in the list. */
  needs?: Needed
  /** What it collects from all areas above it. No area below may contribute that. */
  collects?: readonly Kind[]
  create(
    tools: AreaDeps,
    needs: OffersNeeded<Needed>,
    collected: Pick<Collected, Kind>,
  ): Contributions & { offers?: Offer | undefined }
}

/**
 * Defines an area: what it needs of others, what it offers to them, what it adds to the server. No area can need one
 * that is made later, for the definition would not be there: what must flow back is a signal.
 * @example
 * export const photosArea = area({
 *   name: 'photos',
 *   needs: { users: usersArea },
 *   create(tools, { users }) {
 *     const photos = createPhotos(tools)
 *     return { offers: photos, routes: photoRoutes(photos, users), hears: [on(userLeaving, photos.removeWith)] }
 *   },
 * })
 */
export const area = <
  const Name extends string,
  Needed extends Needs = Record<never, never>,
  Kind extends keyof Collected = never,
  Offer = undefined,
>(
  definition: Definition<Name, Needed, Kind, Offer>,
): Area<Name, Offer> => {
  const { name, needs, collects = [], create, ...declares } = definition
  const entries = Object.entries(needs ?? {})
  return {
    name,
    needs: entries.map(([, needed]) => needed),
    collects,
    declares,
    create: (tools, offerOf, collected) => {
      const offers = Object.fromEntries(entries.map(([key, needed]) => [key, offerOf(needed)]))
      return create(tools, offers as OffersNeeded<Needed>, collected)
    },
  }
}
