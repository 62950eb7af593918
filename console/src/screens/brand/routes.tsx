import { Box } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, useParams } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useBrandRecord } from './brand-record.ts'
import { Domain } from './domain.tsx'
import { Mails } from './mails.tsx'
import { NewBrand } from './new.tsx'
import { Pictures } from './pictures.tsx'
import { BrandRecord } from './record.tsx'
import { Senders } from './senders.tsx'
import { Welcome } from './welcome.tsx'

const Content = ({ id }: { id: string }) => {
  const { record, isMissing, error, again } = useBrandRecord()
  if (id === 'mails') return <Mails />
  // Everything else goes with the settings, which come first.
  if (isMissing) return <NewBrand />
  if (error) return <FailureNote error={error} again={again} />
  if (!record) return <Loading />
  switch (id) {
    case 'pictures':
      return <Pictures />
    case 'welcome':
      return <Welcome />
    case 'domain':
      return <Domain />
    case 'senders':
      return <Senders />
    default:
      return <BrandRecord {...record} />
  }
}

/** How an account presents itself: what it looks like, where it lives, and in whose name it writes. */
const Brand = () => {
  const { t } = useTranslation()
  const { section = 'settings' } = useParams()
  return (
    <Screen title={t(`brand.${section}`)}>
      <Box maw="60rem">
        <Content id={section} />
      </Box>
    </Screen>
  )
}

export const Routes = () => (
  <Route path={at('brand/:section?/:noticeId?')}>
    <Brand />
  </Route>
)
