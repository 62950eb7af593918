import { getUser } from '@crosspoint/client'
import {
  Anchor,
  AppShell,
  Badge,
  Breadcrumbs,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  Text,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDown, Circle } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { signOut } from '../lib/acting.ts'
import { useAnswer } from '../lib/answers.ts'
import { api, crosspoint } from '../lib/api.ts'
import { liveness } from '../lib/feed.ts'
import { chooseLanguage, languages } from '../lib/texts.ts'
import { type Screen, screensFor } from '../screens/index.ts'
import { ActingNote } from './acting-note.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { type Place, useBrand, usePlace } from './place.tsx'

const BrandMark = () => {
  const { name, logoUrl } = useBrand()
  return logoUrl ? <img src={logoUrl} alt={name} className="brand-logo" /> : <Text fw={700}>{name}</Text>
}

const Where = ({ place }: { place: Place }) => {
  const { t } = useTranslation()
  return (
    <nav aria-label={t('frame.where')} style={{ minWidth: 0 }}>
      <Breadcrumbs separatorMargin={6} style={{ flexWrap: 'wrap', rowGap: 2 }}>
        {place.above.map(({ id, name }) => (
          <Anchor
            key={id}
            component={Link}
            href={`/a/${id}/overview`}
            size="sm"
            dir="auto"
            maw="12rem"
            truncate
          >
            {name}
          </Anchor>
        ))}
        <Text size="sm" fw={600} aria-current="page" dir="auto" maw="16rem" truncate>
          {place.name}
        </Text>
      </Breadcrumbs>
    </nav>
  )
}

const LiveMark = () => {
  const { t } = useTranslation()
  const state = liveness.use()
  const color = state === 'live' ? 'green' : 'gray'
  return (
    <Group gap={4} wrap="nowrap" visibleFrom="sm" role="status">
      <Circle size={10} fill={`var(--mantine-color-${color}-6)`} strokeWidth={0} aria-hidden />
      <Text size="xs">{t(`frame.live.${state}`)}</Text>
    </Group>
  )
}

/** The user of the session; API keys have none. */
const useUserName = () => {
  const { t } = useTranslation()
  const { accountId = '', userId = '' } = crosspoint.session() ?? {}
  const path = { account_id: accountId, user_id: userId }
  const enabled = userId !== ''
  const found = useAnswer(['user', accountId, userId], (signal) => getUser({ ...api, path, signal }), {
    enabled,
  })
  return found.data?.data?.username ?? t('frame.user')
}

const UserMenu = () => {
  const { t, i18n } = useTranslation()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const session = crosspoint.session()
  const user = useUserName()
  const leave = async () => {
    await signOut()
    location.assign('/')
  }
  return (
    <Menu position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <Button
          variant="default"
          size="xs"
          rightSection={<ChevronDown size={14} aria-hidden />}
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

const Sections = ({ screens, onGo }: { screens: readonly Screen[]; onGo: () => void }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [location] = useLocation()
  return screens.map(({ id, Icon }) => {
    const to = `/a/${accountId}/${id}`
    return (
      <NavLink
        key={id}
        component={Link}
        href={to}
        onClick={onGo}
        label={t(`screens.${id}`)}
        leftSection={<Icon size={18} aria-hidden />}
        active={location === to || location.startsWith(`${to}/`)}
        aria-current={location.startsWith(to) ? 'page' : undefined}
      />
    )
  })
}

/** The frame around every screen: brand, breadcrumbs, account and navigation. */
export const Shell = ({ children }: { children: ReactNode }) => {
  const { t } = useTranslation()
  const place = usePlace()
  const { hidesPoweredBy } = useBrand()
  const [opened, { toggle, close }] = useDisclosure(false)
  const [location] = useLocation()
  // Keyboard users continue from the heading of the new screen.
  useEffect(() => {
    // Arrow keys move between tabs that have their own address.
    const isInTabs = document.activeElement?.closest('[role=tablist]')
    if (location && !isInTabs) document.querySelector('main')?.focus({ preventScroll: true })
  }, [location])
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <a href="#main" className="skip-link">
        {t('frame.skip')}
      </a>
      <AppShell.Header px="md">
        <Group h="100%" wrap="nowrap" justify="space-between">
          <Group wrap="nowrap" gap="sm" style={{ minWidth: 0 }}>
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t('frame.menu')}
              aria-expanded={opened}
            />
            <Anchor
              component={Link}
              href={`/a/${crosspoint.session()?.accountId}/overview`}
              underline="never"
              c="inherit"
              visibleFrom="sm"
            >
              <BrandMark />
            </Anchor>
            <Where place={place} />
            {!place.isOwn && (
              <Badge color="orange.9" variant="filled" visibleFrom="sm">
                {t('frame.actingFor')}
              </Badge>
            )}
            {!place.isEnabled && <Badge color="red.9">{t('frame.disabled')}</Badge>}
          </Group>
          <Group wrap="nowrap" gap="sm">
            <LiveMark />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('frame.sections')}>
        <AppShell.Section grow style={{ overflowY: 'auto' }}>
          <Sections screens={screensFor(place)} onGo={close} />
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
        {children}
      </AppShell.Main>
    </AppShell>
  )
}
