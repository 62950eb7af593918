import i18next from 'i18next'
import {
  CalendarClock,
  CircleParking,
  Globe,
  Grip,
  type LucideIcon,
  MessageSquareX,
  Phone,
  PhoneOff,
  Play,
  Puzzle,
  UserRound,
  UsersRound,
  Voicemail,
  Workflow,
} from 'lucide-react'
import { branchesOf, moduleOf, nextKey, type Step } from './flow.ts'

const icons: Readonly<Record<string, LucideIcon>> = {
  user: UserRound,
  device: Phone,
  ring_group: UsersRound,
  callflow: Workflow,
  resources: Globe,
  offnet: Globe,
  response: MessageSquareX,
  hangup: PhoneOff,
  voicemail: Voicemail,
  menu: Grip,
  temporal_route: CalendarClock,
  play: Play,
  park: CircleParking,
  conference: UsersRound,
}

export const iconOf = (module: string) => icons[module] ?? Puzzle

/** Well-known modules that need a media server. */
export const mediaModules = [
  'voicemail',
  'menu',
  'temporal_route',
  'play',
  'tts',
  'conference',
  'park',
  'directory',
  'page_group',
  'faxbox',
  'receive_fax',
  'record_call',
  'collect_dtmf',
  'check_cid',
  'set_cid',
  'prepend_cid',
  'call_forward',
  'do_not_disturb',
  'hotdesk',
  'intercom',
  'group_pickup',
  'disa',
  'pivot',
  'missed_call_alert',
]

/** The name of a module in plain words; its own one if it is not known. */
export const moduleName = (module: string) =>
  i18next.t(`callflows.module.${module}`, { defaultValue: module })

const ringing = new Set(['user', 'device', 'ring_group', 'group', 'callflow', 'resources', 'offnet'])
const branching = new Set(['menu', 'temporal_route', 'check_cid', 'cidlistmatch'])

// IDs, for example of time rules, do not fit on a card.
const maxLetters = 24

/** A text that is shown on a card. */
export const shortened = (text: string) => (text.length > maxLetters ? `${text.slice(0, 8)}…` : text)

/** When the step at a branch follows. */
export const branchName = (parent: Step, key: string) => {
  const module = moduleOf(parent)
  if (key === nextKey) {
    if (ringing.has(module)) return i18next.t('callflows.branch.unanswered')
    const isOther = branching.has(module) || branchesOf(parent).length > 0
    return i18next.t(isOther ? 'callflows.branch.otherwise' : 'callflows.branch.then')
  }
  if (/^[\d*#]$/.test(key)) return i18next.t('callflows.branch.digit', { key })
  return key === 'timeout' ? i18next.t('callflows.branch.timeout') : shortened(key)
}
