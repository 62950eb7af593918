import { Button, Container, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { signOut } from '../lib/acting.ts'
import { crosspoint } from '../lib/api.ts'
import { FailureNote } from '../lib/failures.tsx'
import { ButtonToScreen } from '../parts/link.tsx'
import { Loading, Screen } from '../parts/screen.tsx'
import { PlaceProvider, usePlaceOf } from './place.tsx'
import { Shell } from './shell.tsx'

interface Failed {
  error: unknown
  again: () => unknown
}

const Told = ({ error, again, children }: Failed & { children: ReactNode }) => {
  const { t } = useTranslation()
  return (
    <Screen title={t('unreadable.title')}>
      <FailureNote error={error} again={again} />
      <Group>{children}</Group>
    </Screen>
  )
}

/** Not even one's own account can be read: what is left is to try again, or to leave. */
const Nowhere = (failed: Failed) => {
  const { t } = useTranslation()
  const leave = async () => {
    await signOut()
    location.assign('/')
  }
  return (
    <Container component="main" size="sm" py="xl">
      <Told {...failed}>
        <Button variant="default" onClick={() => void leave()}>
          {t('frame.signOut')}
        </Button>
      </Told>
    </Container>
  )
}

const InOwnAccount = ({ ownId, ...failed }: Failed & { ownId: string }) => {
  const { t } = useTranslation()
  const { place, error } = usePlaceOf(ownId)
  if (error && !place) return <Nowhere {...failed} />
  if (!place) return <Loading />
  return (
    <PlaceProvider place={place}>
      <Shell>
        <Told {...failed}>
          <ButtonToScreen to={`/a/${ownId}/overview`} variant="default">
            {t('unreadable.toOwn')}
          </ButtonToScreen>
        </Told>
      </Shell>
    </PlaceProvider>
  )
}

/** Shown instead of an account that cannot be displayed, in the frame of the user's own account. */
export const Unreadable = ({ accountId, ...failed }: Failed & { accountId: string }) => {
  const ownId = crosspoint.session()?.accountId
  return ownId === undefined || ownId === accountId ? (
    <Nowhere {...failed} />
  ) : (
    <InOwnAccount ownId={ownId} {...failed} />
  )
}
