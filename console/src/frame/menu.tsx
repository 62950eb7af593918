import { NavLink, ScrollArea } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { entryAt, type MenuEntry, type MenuGroup } from '../screens/index.ts'
import { useTo } from './place.tsx'

/** The address below that of the account: `devices/new`. */
export const useScreenPath = () => {
  const [location] = useLocation()
  return location.split('/').slice(3).join('/')
}

interface Line {
  entry: MenuEntry
  isOpen: boolean
  onGo: () => void
  Icon?: MenuGroup['Icon']
}

const EntryLine = ({ entry, isOpen, onGo, Icon }: Line) => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <NavLink
      component={Link}
      href={to(entry.to)}
      onClick={onGo}
      label={t(entry.label)}
      leftSection={Icon && <Icon size={18} aria-hidden />}
      active={isOpen}
      aria-current={isOpen ? 'page' : undefined}
    />
  )
}

/** The screens by group. The group of the open screen is unfolded. */
export const SectionMenu = ({ groups, onGo }: { groups: readonly MenuGroup[]; onGo: () => void }) => {
  const { t } = useTranslation()
  const open = entryAt(groups, useScreenPath())
  return (
    <ScrollArea type="auto" h="100%" viewportProps={{ tabIndex: -1 }}>
      {groups.map(({ id, Icon, entries }) => {
        const [only, ...more] = entries
        if (!only) return null
        if (more.length === 0) {
          return (
            <EntryLine key={id} entry={only} isOpen={open?.entry.to === only.to} onGo={onGo} Icon={Icon} />
          )
        }
        const isHere = open?.group.id === id
        return (
          // Unfolded again when one of its screens is opened by a link elsewhere.
          <NavLink
            key={`${id} ${isHere}`}
            component="button"
            label={t(`menu.${id}`)}
            leftSection={<Icon size={18} aria-hidden />}
            defaultOpened={isHere}
            childrenOffset={28}
          >
            {entries.map((entry) => (
              <EntryLine key={entry.to} entry={entry} isOpen={open?.entry.to === entry.to} onGo={onGo} />
            ))}
          </NavLink>
        )
      })}
    </ScrollArea>
  )
}
