import {
  BookUser,
  ChartColumn,
  CircleDollarSign,
  Cog,
  Hash,
  House,
  ListTodo,
  type LucideIcon,
  Palette,
  PhoneCall,
  ScrollText,
  ShieldCheck,
} from 'lucide-react'
import { type ComponentType, lazy } from 'react'
import type { Place } from '../frame/place.tsx'

type IsShown = (place: Place) => boolean

/** A folder of screens of an account: everything at `/a/{account}/{id}` and below. */
interface Screens {
  id: string
  /** Loaded when it is opened. Its routes begin with the folder's own address. */
  Routes: ComponentType
  /** Who may open it; all users without. */
  isShown?: IsShown
}

const opened = (load: () => Promise<{ Routes: ComponentType }>) =>
  lazy(async () => ({ default: (await load()).Routes }))

const isMaster: IsShown = (place) => place.isMaster && !place.isPlainUser
const isAdmin: IsShown = (place) => !place.isPlainUser

const screens: readonly Screens[] = [
  { id: 'overview', Routes: opened(() => import('./overview/routes.tsx')) },
  { id: 'accounts', Routes: opened(() => import('./accounts/routes.tsx')) },
  { id: 'users', Routes: opened(() => import('./users/routes.tsx')) },
  { id: 'devices', Routes: opened(() => import('./devices/routes.tsx')) },
  { id: 'groups', Routes: opened(() => import('./groups/routes.tsx')) },
  { id: 'callflows', Routes: opened(() => import('./callflows/routes.tsx')) },
  { id: 'registrations', Routes: opened(() => import('./registrations/routes.tsx')) },
  { id: 'live-calls', Routes: opened(() => import('./live-calls/routes.tsx')) },
  { id: 'numbers', Routes: opened(() => import('./numbers/routes.tsx')) },
  { id: 'calls', Routes: opened(() => import('./calls/routes.tsx')) },
  { id: 'money', Routes: opened(() => import('./money/routes.tsx')) },
  { id: 'rates', Routes: opened(() => import('./rates/routes.tsx')) },
  { id: 'limits', Routes: opened(() => import('./limits/routes.tsx')) },
  { id: 'tasks', Routes: opened(() => import('./tasks/routes.tsx')) },
  { id: 'api-keys', Routes: opened(() => import('./api-keys/routes.tsx')), isShown: isAdmin },
  { id: 'alerts', Routes: opened(() => import('./alerts/routes.tsx')) },
  { id: 'edge', Routes: opened(() => import('./edge/routes.tsx')) },
  { id: 'carriers', Routes: opened(() => import('./carriers/routes.tsx')) },
  { id: 'trunks', Routes: opened(() => import('./trunks/routes.tsx')) },
  { id: 'edges', Routes: opened(() => import('./edges/routes.tsx')), isShown: isMaster },
  { id: 'brand', Routes: opened(() => import('./brand/routes.tsx')) },
  { id: 'events', Routes: opened(() => import('./events/routes.tsx')) },
  { id: 'quotas', Routes: opened(() => import('./quotas/routes.tsx')), isShown: isAdmin },
  { id: 'system', Routes: opened(() => import('./system/routes.tsx')), isShown: isMaster },
]

/** A line of the menu. */
export interface MenuEntry {
  /** The address below that of the account. */
  to: string
  /** The key of its text, which is also the heading of the screen. */
  label: string
  isShown?: IsShown
}

export interface MenuGroup {
  id: string
  Icon: LucideIcon
  entries: readonly MenuEntry[]
}

/** A group of one entry is shown as that entry. */
const menu: readonly MenuGroup[] = [
  { id: 'overview', Icon: House, entries: [{ to: 'overview', label: 'screens.overview' }] },
  {
    id: 'customers',
    Icon: ChartColumn,
    entries: [{ to: 'accounts', label: 'screens.accounts', isShown: isAdmin }],
  },
  {
    id: 'people',
    Icon: BookUser,
    entries: [
      { to: 'users', label: 'screens.users' },
      { to: 'devices', label: 'screens.devices' },
      { to: 'groups', label: 'screens.groups' },
      { to: 'callflows', label: 'screens.callflows' },
      { to: 'registrations', label: 'registrations.title' },
      { to: 'live-calls', label: 'liveCalls.title' },
    ],
  },
  {
    id: 'numbers',
    Icon: Hash,
    entries: [
      { to: 'numbers', label: 'screens.numbers' },
      { to: 'numbers/stock', label: 'numbers.stock' },
    ],
  },
  {
    id: 'calls',
    Icon: PhoneCall,
    entries: [
      { to: 'calls', label: 'screens.calls' },
      { to: 'calls/charts', label: 'calls.chartsTitle' },
    ],
  },
  {
    id: 'billing',
    Icon: CircleDollarSign,
    entries: [
      { to: 'money', label: 'money.part.overview' },
      { to: 'money/invoices', label: 'money.part.invoices' },
      { to: 'money/ledgers', label: 'money.part.ledgers' },
      { to: 'money/transactions', label: 'money.part.transactions' },
      { to: 'money/plans', label: 'money.part.plans' },
      { to: 'money/cards', label: 'money.part.cards', isShown: isAdmin },
      {
        to: 'money/service-plans',
        label: 'money.part.servicePlans',
        isShown: (place) => place.isReseller || place.isMaster,
      },
      { to: 'rates', label: 'rates.title' },
      { to: 'limits', label: 'alerts.limits' },
      {
        to: 'limits/operator',
        label: 'alerts.operatorLimits',
        isShown: ({ isOwn, actsForMaster }) => !isOwn || actsForMaster,
      },
      { to: 'limits/allotments', label: 'alerts.allotments' },
    ],
  },
  {
    id: 'branding',
    Icon: Palette,
    entries: [
      { to: 'brand', label: 'brand.settings', isShown: isAdmin },
      { to: 'brand/pictures', label: 'brand.pictures', isShown: isAdmin },
      { to: 'brand/welcome', label: 'brand.welcome', isShown: isAdmin },
      { to: 'brand/domain', label: 'brand.domain', isShown: isAdmin },
      { to: 'brand/senders', label: 'brand.senders', isShown: isAdmin },
      { to: 'brand/mails', label: 'brand.mails', isShown: isAdmin },
    ],
  },
  {
    id: 'automation',
    Icon: ListTodo,
    entries: [
      { to: 'tasks', label: 'screens.tasks' },
      { to: 'events/webhooks', label: 'events.webhooks', isShown: isAdmin },
      { to: 'events/deliveries', label: 'events.deliveries', isShown: isAdmin },
      { to: 'api-keys', label: 'apiKeys.title', isShown: isAdmin },
    ],
  },
  {
    id: 'activity',
    Icon: ScrollText,
    entries: [
      { to: 'events', label: 'events.audit' },
      { to: 'events/live', label: 'events.live', isShown: isAdmin },
      { to: 'alerts', label: 'alerts.open' },
    ],
  },
  {
    id: 'access',
    Icon: ShieldCheck,
    entries: [
      { to: 'edge', label: 'edge.title', isShown: isAdmin },
      { to: 'trunks', label: 'trunks.title', isShown: isAdmin },
      { to: 'carriers', label: 'carriers.of.account', isShown: isAdmin },
      { to: 'carriers/system', label: 'carriers.of.system', isShown: isMaster },
      { to: 'edges', label: 'edges.title', isShown: isMaster },
    ],
  },
  {
    id: 'system',
    Icon: Cog,
    entries: [
      { to: 'system', label: 'system.health', isShown: isMaster },
      { to: 'system/work', label: 'system.work', isShown: isMaster },
      { to: 'system/migrations', label: 'system.migrations', isShown: isMaster },
      { to: 'system/settings', label: 'system.settings', isShown: isMaster },
      { to: 'quotas', label: 'quotas.title', isShown: isAdmin },
    ],
  },
]

const isShownIn = (place: Place) => (one: { isShown?: IsShown }) => one.isShown?.(place) ?? true

export const screensFor = (place: Place) => screens.filter(isShownIn(place))

/** The groups of the menu that have an entry for the caller. */
export const menuFor = (place: Place): readonly MenuGroup[] =>
  menu
    .map((group) => ({ ...group, entries: group.entries.filter(isShownIn(place)) }))
    .filter(({ entries }) => entries.length > 0)

/** The entry of the menu that an address belongs to: the one with the longest address that it begins with. */
export const entryAt = (groups: readonly MenuGroup[], path: string) =>
  groups
    .flatMap((group) => group.entries.map((entry) => ({ group, entry })))
    .filter(({ entry: { to } }) => path === to || path.startsWith(`${to}/`))
    .toSorted((one, other) => other.entry.to.length - one.entry.to.length)[0]
