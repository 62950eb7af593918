import { listDevices, search } from '@crosspoint/client'
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

const shown = 20

interface Choice {
  value: string
  label: string
}

const useDevices = (text: string): readonly Choice[] => {
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const found = useAnswer<{ data: readonly { id: string; name?: string }[] }>(
    ['device', accountId, 'choice', text],
    (signal) =>
      text === ''
        ? listDevices({ ...api, path, query: { page_size: shown }, signal })
        : search({ ...api, path, query: { t: 'device', q: 'name', v: text }, signal }),
  )
  return (found.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name ?? id }))
}

/** Selects the account or one device, found by the beginning of its name. */
export const SubjectSelect = ({
  chosen,
  onChoose,
}: {
  chosen: Choice | undefined
  onChoose: (deviceId: string | undefined) => void
}) => {
  const { t } = useTranslation()
  const { name } = usePlace()
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed, 250)
  const devices = useDevices(text)
  const account = { value: '', label: t('edge.wholeAccount', { name }) }
  const others = chosen ? [chosen, ...devices.filter(({ value }) => value !== chosen.value)] : devices
  const data = [account, ...others]
  return (
    <Select
      label={t('edge.whose')}
      value={chosen?.value ?? ''}
      data={data}
      onChange={(value) => onChoose(value || undefined)}
      searchable
      allowDeselect={false}
      filter={({ options }) => options}
      onSearchChange={(given) => setTyped(data.some(({ label }) => label === given) ? '' : given)}
      maw="30rem"
    />
  )
}
