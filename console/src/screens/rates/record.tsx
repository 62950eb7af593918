import { deleteRate, getRate, type Rate, updateRate } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

/** One rate. */
export const RateRecord = () => {
  const { t } = useTranslation()
  const to = useTo()
  const { rateId = '' } = useParams()
  const path = { rate_id: rateId }
  const found = useAnswer(['rate', rateId], (signal) => getRate({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  const name = data.rate_name ?? `+${data.prefix}`
  return (
    <Screen
      title={name}
      actions={
        <DeleteButton
          title={t('rates.deleteTitle')}
          text={t('rates.deleteText', { name })}
          touches={['rate']}
          run={() => deleteRate({ ...api, path })}
          to={to('rates')}
        />
      }
    >
      <RecordFormTabs
        key={rateId}
        kind="rate"
        apiPath={`/v2/rates/${rateId}`}
        schemaName="rates"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) =>
          updateRate({ ...api, ...more, path, body: { data: changes as unknown as Rate } })
        }
      />
    </Screen>
  )
}
