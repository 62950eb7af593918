import { Box } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { SectionTabs } from '../../parts/section-tabs.tsx'
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

const sections = ['settings', 'pictures', 'welcome', 'domain', 'senders', 'mails'] as const

/** How an account presents itself: what it looks like, where it lives, and in whose name it writes. */
const Brand = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const section = (id: (typeof sections)[number]) => ({
    id,
    title: t(`brand.${id}`),
    content: (
      <Box maw="60rem">
        <Content id={id} />
      </Box>
    ),
  })
  const [first, ...rest] = sections
  return (
    <Screen title={t('screens.brand')}>
      <SectionTabs
        screen="brand"
        sections={[section(first), ...rest.map(section)]}
        api={{ path: `/v2/accounts/${accountId}/whitelabel` }}
      />
    </Screen>
  )
}

export const Routes = () => (
  <Switch>
    <Route path={at('brand/:section?/:noticeId?')}>
      <Brand />
    </Route>
  </Switch>
)
