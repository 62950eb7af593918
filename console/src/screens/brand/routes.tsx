import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, Switch, useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ApiTab } from '../../parts/api-tab.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useBrandRecord } from './brand-record.ts'
import { Domain } from './domain.tsx'
import { Mails } from './mails.tsx'
import { NewBrand } from './new.tsx'
import { Pictures } from './pictures.tsx'
import { BrandRecord } from './record.tsx'
import { Senders } from './senders.tsx'
import { Welcome } from './welcome.tsx'

const Section = ({ id }: { id: string }) => {
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
  const { section = 'settings' } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  return (
    <Screen title={t('screens.brand')}>
      <Tabs
        value={section}
        onChange={(next) => go(to(next === 'settings' ? 'brand' : `brand/${next}`))}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {sections.map((id) => (
            <Tabs.Tab key={id} value={id}>
              {t(`brand.${id}`)}
            </Tabs.Tab>
          ))}
          <Tabs.Tab value="api">API</Tabs.Tab>
        </Tabs.List>
        {sections.map((id) => (
          <Tabs.Panel key={id} value={id} maw="60rem">
            <Section id={id} />
          </Tabs.Panel>
        ))}
        <Tabs.Panel value="api">
          <ApiTab path={`/v2/accounts/${accountId}/whitelabel`} />
        </Tabs.Panel>
      </Tabs>
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
