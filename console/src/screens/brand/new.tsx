import { createWhitelabel } from '@crosspoint/client'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { groups, own } from './fields.tsx'

/** The first settings of a brand. */
export const NewBrand = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  return (
    <>
      <Text mb="md">{t('brand.empty')}</Text>
      <NewRecord
        kind="whitelabel"
        schemaName="whitelabel"
        groups={groups}
        own={own}
        create={(record) =>
          createWhitelabel({ ...api, path: { account_id: accountId }, body: { data: record } })
        }
        to={() => to('brand')}
      />
    </>
  )
}
