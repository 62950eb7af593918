import { listAlerts } from '@crosspoint/client'
import {
  ActionIcon,
  Anchor,
  AppShell,
  Badge,
  Breadcrumbs,
  Burger,
  Button,
  Group,
  Indicator,
  Menu,
  Text,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Bell, ChevronDown, Circle, CircleUser, CodeXml } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { signOut } from '../lib/acting.ts'
import { useAnswer } from '../lib/answers.ts'
import { api, crosspoint } from '../lib/api.ts'
import { liveness } from '../lib/feed.ts'
import { chooseLanguage, languages } from '../lib/texts.ts'
import { ButtonToScreen } from '../parts/link.tsx'
import { entryAt, type MenuGroup, menuFor } from '../screens/index.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { ActingNote } from './acting-note.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { SectionMenu, useScreenPath } from './menu.tsx'
import { type Place, useBrand, useOwnUser, usePlace, useTo } from './place.tsx'

const ApiPanel = lazy(async () => ({ default: (await import('./api-panel.tsx')).ApiPanel }))

const BrandMark = () => {
  const { name, logoUrl } = useBrand()
  return logoUrl ? <img src={logoUrl} alt={name} className="brand-logo" /> : <Text fw={700}>{name}</Text>
}

/** Where the open screen is: the accounts above, the account, the group of the menu, and above a record its list. */
const Trail = ({ place, groups }: { place: Place; groups: readonly MenuGroup[] }) => {
  const { t } = useTranslation()
  const to = useTo()
  const path = useScreenPath()
  const open = entryAt(groups, path)
  const isEntry = open?.entry.to === path
  return (
    <Group justify="space-between" mb="xs" wrap="nowrap" align="flex-start">
      <nav aria-label={t('frame.where')} style={{ minWidth: 0 }}>
        <Breadcrumbs separatorMargin={6} style={{ flexWrap: 'wrap', rowGap: 2 }}>
          {[...place.above, { id: place.accountId, name: place.name }].map(({ id, name }) => (
            <Anchor
              key={id}
              component={Link}
              href={`/a/${id}/overview`}
              size="sm"
              lh={1.5}
              dir="auto"
              maw="12rem"
              truncate
            >
              {name}
            </Anchor>
          ))}
          {open && open.group.entries.length > 1 && (
            <Text size="sm" c="dimmed">
              {t(`menu.${open.group.id}`)}
            </Text>
          )}
          {open && !isEntry && (
            <Anchor component={Link} href={to(open.entry.to)} size="sm">
              {t(open.entry.label)}
            </Anchor>
          )}
        </Breadcrumbs>
      </nav>
      {!place.isOwn && (
        <ButtonToScreen
          to={`/a/${crosspoint.session()?.accountId}/overview`}
          variant="subtle"
          size="compact-sm"
          style={{ flexShrink: 0 }}
        >
          {t('frame.backToOwn')}
        </ButtonToScreen>
      )}
    </Group>
  )
}

// Most alerts follow from the state of the account, without an event.
const alertPeriod = 60_000

/** Leads to the open alerts of the account and shows how many there are. */
const AlertBell = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const found = useAnswer(
    ['alert', accountId, 'open'],
    (signal) => listAlerts({ ...api, path: { account_id: accountId }, signal }),
    { every: alertPeriod },
  )
  const count = found.data?.data.length ?? 0
  return (
    <Indicator label={count} disabled={count === 0} size={16} color="red.9" offset={4}>
      <ActionIcon
        component={Link}
        href={to('alerts')}
        variant="default"
        size="lg"
        aria-label={t('frame.alerts', { count })}
      >
        <Bell size={18} aria-hidden />
      </ActionIcon>
    </Indicator>
  )
}

const ApiButton = () => {
  const { t } = useTranslation()
  const [opened, { open, close }] = useDisclosure(false)
  return (
    <>
      <ActionIcon
        variant="default"
        size="lg"
        aria-label={t('api.title')}
        title={t('api.title')}
        onClick={open}
      >
        <CodeXml size={18} aria-hidden />
      </ActionIcon>
      {opened && (
        <Suspense>
          <ApiPanel opened onClose={close} />
        </Suspense>
      )}
    </>
  )
}

const LiveMark = () => {
  const { t } = useTranslation()
  const state = liveness.use()
  const color = state === 'live' ? 'green' : 'gray'
  return (
    <Group gap={4} wrap="nowrap" visibleFrom="md" role="status">
      <Circle size={10} fill={`var(--mantine-color-${color}-6)`} strokeWidth={0} aria-hidden />
      <Text size="xs">{t(`frame.live.${state}`)}</Text>
    </Group>
  )
}

const UserMenu = () => {
  const { t, i18n } = useTranslation()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const session = crosspoint.session()
  const user = useOwnUser().data?.data.username ?? t('frame.user')
  const leave = async () => {
    await signOut()
    location.assign('/')
  }
  return (
    <Menu position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <Button
          variant="default"
          size="sm"
          px="xs"
          leftSection={<CircleUser size={18} aria-hidden />}
          rightSection={<ChevronDown size={14} aria-hidden />}
          className="user-menu"
          aria-label={t('frame.userMenu', { user })}
        >
          {user}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session?.login.account_name}</Menu.Label>
        <Menu.Item component={Link} href={`/a/${session?.accountId}/users/${session?.userId}`}>
          {t('frame.myself')}
        </Menu.Item>
        <Menu.Item component="a" href="/docs">
          {t('frame.docs')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('frame.language')}</Menu.Label>
        {(Object.keys(languages) as (keyof typeof languages)[]).map((language) => (
          <Menu.Item
            key={language}
            lang={language}
            fw={i18n.language === language ? 700 : undefined}
            onClick={() => void chooseLanguage(language)}
          >
            {languages[language]}
          </Menu.Item>
        ))}
        <Menu.Label>{t('frame.colors')}</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            fw={colorScheme === scheme ? 700 : undefined}
            onClick={() => setColorScheme(scheme)}
          >
            {t(`frame.scheme.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave()}>{t('frame.signOut')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** The frame around every screen: brand, breadcrumbs, account and navigation. */
export const Shell = ({ children }: { children: ReactNode }) => {
  const { t } = useTranslation()
  const place = usePlace()
  const { hidesPoweredBy } = useBrand()
  const [opened, { toggle, close }] = useDisclosure(false)
  const [location] = useLocation()
  const groups = menuFor(place)
  const open = entryAt(groups, useScreenPath())
  // Keyboard users continue from the heading of the new screen.
  useEffect(() => {
    // Arrow keys move between tabs that have their own address.
    const isInTabs = document.activeElement?.closest('[role=tablist]')
    if (location && !isInTabs) document.querySelector('main')?.focus({ preventScroll: true })
  }, [location])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: 'md', collapsed: { mobile: !opened } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a href="#main" className="skip-link">
        {t('frame.skip')}
      </a>
      <AppShell.Header px={{ base: 'sm', sm: 'lg' }}>
        <Group h="100%" wrap="nowrap" justify="space-between" gap="sm">
          <Group wrap="nowrap" gap="sm" style={{ minWidth: 0 }}>
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={t('frame.menu')}
              aria-expanded={opened}
            />
            <Anchor
              component={Link}
              href={`/a/${crosspoint.session()?.accountId}/overview`}
              underline="never"
              c="inherit"
              visibleFrom="md"
              className="brand-mark"
            >
              <BrandMark />
            </Anchor>
            <AccountSwitcher screen={open && open.group.id !== 'system' ? open.entry.to : 'overview'} />
            {!place.isOwn && (
              <Badge color="orange" visibleFrom="md" style={{ flexShrink: 0 }}>
                {t('frame.actingFor')}
              </Badge>
            )}
            {!place.isEnabled && (
              <Badge color="red" style={{ flexShrink: 0 }}>
                {t('frame.disabled')}
              </Badge>
            )}
          </Group>
          <Group wrap="nowrap" gap="xs">
            <LiveMark />
            <AlertBell />
            <ApiButton />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('frame.sections')}>
        <AppShell.Section grow style={{ minHeight: 0 }}>
          <SectionMenu groups={groups} onGo={close} />
        </AppShell.Section>
        {!hidesPoweredBy && (
          <AppShell.Section>
            <Text size="xs" c="dimmed" p="xs">
              {t('frame.poweredBy')}
            </Text>
          </AppShell.Section>
        )}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} style={{ outline: 'none' }}>
        <ConnectionNote />
        <ActingNote />
        <Trail place={place} groups={groups} />
        {children}
      </AppShell.Main>
    </AppShell>
  )
}
