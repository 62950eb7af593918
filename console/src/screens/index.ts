import {
  BellRing,
  BookUser,
  ChartColumn,
  CircleDollarSign,
  Cog,
  Hash,
  House,
  ListTodo,
  type LucideIcon,
  MonitorSmartphone,
  Palette,
  PhoneCall,
  ScrollText,
  ShieldCheck,
} from 'lucide-react'
import { type ComponentType, lazy } from 'react'
import type { Place } from '../frame/place.tsx'

/** A screen of an account: everything at `/a/{account}/{id}` and below. */
export interface Screen {
  id: string
  Icon: LucideIcon
  /** Loaded when it is opened. Its routes begin with the screen's own address. */
  Routes: ComponentType
  /** Where it is shown; everywhere without. */
  isShown?: (place: Place) => boolean
}

const opened = (load: () => Promise<{ Routes: ComponentType }>) =>
  lazy(async () => ({ default: (await load()).Routes }))

/** In the order of the menu. */
export const screens: readonly Screen[] = [
  { id: 'overview', Icon: House, Routes: opened(() => import('./overview/routes.tsx')) },
  { id: 'accounts', Icon: ChartColumn, Routes: opened(() => import('./accounts/routes.tsx')) },
  { id: 'users', Icon: BookUser, Routes: opened(() => import('./users/routes.tsx')) },
  { id: 'devices', Icon: MonitorSmartphone, Routes: opened(() => import('./devices/routes.tsx')) },
  { id: 'numbers', Icon: Hash, Routes: opened(() => import('./numbers/routes.tsx')) },
  { id: 'calls', Icon: PhoneCall, Routes: opened(() => import('./calls/routes.tsx')) },
  { id: 'money', Icon: CircleDollarSign, Routes: opened(() => import('./money/routes.tsx')) },
  { id: 'tasks', Icon: ListTodo, Routes: opened(() => import('./tasks/routes.tsx')) },
  { id: 'alerts', Icon: BellRing, Routes: opened(() => import('./alerts/routes.tsx')) },
  { id: 'edge', Icon: ShieldCheck, Routes: opened(() => import('./edge/routes.tsx')) },
  { id: 'brand', Icon: Palette, Routes: opened(() => import('./brand/routes.tsx')) },
  { id: 'events', Icon: ScrollText, Routes: opened(() => import('./events/routes.tsx')) },
  {
    id: 'system',
    Icon: Cog,
    Routes: opened(() => import('./system/routes.tsx')),
    isShown: (place) => place.isMaster,
  },
]

export const screensFor = (place: Place) => screens.filter(({ isShown }) => isShown?.(place) ?? true)
