import { createTheme, DEFAULT_THEME, type MantineColorsTuple, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation, useParams } from 'wouter'
import { generateColors } from './frame/brand-colors.ts'
import { Dialogs } from './frame/dialogs.tsx'
import { NotFound } from './frame/not-found.tsx'
import { BrandProvider, PlaceProvider, usePlaceOf } from './frame/place.tsx'
import { leftKey, whoIs } from './lib/acting.ts'
import { at } from './lib/addresses.ts'
import { queries } from './lib/answers.ts'
import { crosspoint } from './lib/api.ts'
import type { Brand } from './lib/brand.ts'
import { useAccountFeed } from './lib/feed.ts'
import { styleNonce } from './lib/style-nonce.ts'
import { followUserLanguage } from './lib/texts.ts'
import { Loading } from './parts/screen.tsx'
import { screensFor } from './screens/index.ts'

// The sign-in page does not load the console, and the console does not load the sign-in page.
const Shell = lazy(async () => ({ default: (await import('./frame/shell.tsx')).Shell }))
const Unreadable = lazy(async () => ({ default: (await import('./frame/unreadable.tsx')).Unreadable }))
const SignIn = lazy(async () => ({ default: (await import('./sign-in/sign-in.tsx')).SignIn }))
const Recovery = lazy(async () => ({ default: (await import('./sign-in/recovery.tsx')).Recovery }))

const AccountScreens = () => {
  const { accountId = '' } = useParams()
  const { place, error, again } = usePlaceOf(accountId)
  // Starts together with the first requests, so that no change during the first render is missed.
  useAccountFeed(accountId)
  if (error && !place) return <Unreadable accountId={accountId} error={error} again={again} />
  if (!place) return <Loading />
  return (
    <PlaceProvider place={place}>
      <Shell>
        {/* Another account is another page: nothing typed or opened in one shows in the next. */}
        <Suspense key={accountId} fallback={<Loading />}>
          <Switch>
            {screensFor(place).map(({ id, Routes }) => (
              <Route key={id} path={at(`${id}/*?`)}>
                <Routes />
              </Route>
            ))}
            <Route path={at('')}>
              <Redirect to={`/a/${accountId}/overview`} replace />
            </Route>
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </PlaceProvider>
  )
}

const SignedIn = () => {
  const home = `/a/${crosspoint.session()?.accountId}/overview`
  return (
    <Switch>
      <Route path="/a/:accountId/*?">
        <AccountScreens />
      </Route>
      <Route>
        <Redirect to={home} replace />
      </Route>
    </Switch>
  )
}

/** Signing out in one tab ends the session in all tabs. */
const useFollowingOtherTabs = () =>
  useEffect(() => {
    const shown = whoIs(crosspoint.session())
    const follow = ({ key }: StorageEvent) => {
      const session = crosspoint.session()
      const isOther = session !== undefined && whoIs(session) !== shown
      if (isOther || key === leftKey) globalThis.location.assign('/')
    }
    globalThis.addEventListener('storage', follow)
    return () => globalThis.removeEventListener('storage', follow)
  })

const resetIdIn = (search: string) => new URLSearchParams(search).get('recovery') ?? undefined

const Pages = () => {
  const [isSignedIn, setIsSignedIn] = useState(crosspoint.session() !== undefined)
  const [resetId, setResetId] = useState(() => resetIdIn(location.search))
  const [, go] = useLocation()
  useFollowingOtherTabs()
  const enter = () => {
    setResetId(undefined)
    setIsSignedIn(true)
    void followUserLanguage()
  }
  const enterByLink = () => {
    go('/', { replace: true })
    enter()
  }
  if (resetId !== undefined) return <Recovery resetId={resetId} onDone={enterByLink} />
  return isSignedIn ? <SignedIn /> : <SignIn onDone={enter} />
}

// White on the library's darkest green and orange has a contrast below 4.5.
const withDarkest = (
  [a, b, c, d, e, f, g, h, i]: MantineColorsTuple,
  darkest: string,
): MantineColorsTuple => [a, b, c, d, e, f, g, h, i, darkest]

const readableColors = {
  green: withDarkest(DEFAULT_THEME.colors.green, '#237032'),
  orange: withDarkest(DEFAULT_THEME.colors.orange, '#a33b00'),
}

const fonts = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif'

const themeOf = ({ color }: Brand) =>
  createTheme({
    ...(color === undefined ? {} : { primaryColor: 'brand' }),
    colors: { ...readableColors, ...(color === undefined ? {} : { brand: generateColors(color) }) },
    primaryShade: { light: 8, dark: 8 },
    autoContrast: true,
    cursorType: 'pointer',
    respectReducedMotion: true,
    defaultRadius: 'md',
    fontFamily: fonts,
    headings: {
      fontFamily: fonts,
      fontWeight: '600',
      sizes: {
        h1: { fontSize: '1.5rem', lineHeight: '2rem' },
        h2: { fontSize: '1.125rem', lineHeight: '1.5rem' },
        h3: { fontSize: '1rem', lineHeight: '1.5rem' },
        h4: { fontSize: '0.9375rem', lineHeight: '1.375rem' },
        h5: { fontSize: '0.875rem', lineHeight: '1.25rem' },
      },
    },
    components: {
      // The page has one banner, and that of a dialog is none.
      ModalHeader: { defaultProps: { role: 'none' } },
      DrawerHeader: { defaultProps: { role: 'none' } },
      Badge: { defaultProps: { tt: 'none', fw: 500, radius: 'sm', variant: 'light' } },
      Table: { defaultProps: { fz: 'sm', verticalSpacing: '0.4rem' } },
      Card: { defaultProps: { withBorder: true, padding: 'md' } },
      InputWrapper: { defaultProps: { labelProps: { fw: 500 } } },
    },
  })

// Grey text with a contrast of 4.5 or more, which the library's own does not have. Cards are lighter than the ground.
const surfaces = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#5c636a',
    '--mantine-color-error': '#c92a2a',
    '--ground': 'var(--mantine-color-gray-0)',
    '--surface': 'var(--mantine-color-white)',
  },
  dark: {
    '--mantine-color-dimmed': '#a6adb4',
    '--mantine-color-placeholder': '#a6adb4',
    '--mantine-color-error': '#ff8787',
    '--ground': 'var(--mantine-color-dark-8)',
    '--surface': 'var(--mantine-color-dark-7)',
  },
})

/** The console, in the looks of a brand. */
export const App = ({ brand }: { brand: Brand }) => (
  <MantineProvider
    theme={themeOf(brand)}
    defaultColorScheme="auto"
    cssVariablesResolver={surfaces}
    getStyleNonce={() => styleNonce() ?? ''}
  >
    <QueryClientProvider client={queries}>
      <BrandProvider value={brand}>
        <Notifications position="bottom-right" containerWidth={380} />
        <Suspense fallback={<Loading />}>
          <Pages />
          <Dialogs />
        </Suspense>
      </BrandProvider>
    </QueryClientProvider>
  </MantineProvider>
)
