import { listPhoneNumbers } from '@crosspoint/client'
import { TagsInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject, type Json } from '../../lib/json.ts'
import { labelOf, type OwnField } from '../../parts/fields.tsx'

const shown = 20

/** Numbers that lead nowhere, from the typed digits on. */
const useFreeNumbers = (typed: string) => {
  const { accountId } = usePlace()
  const found = useAnswer(['number', accountId, 'free', typed], (signal) =>
    listPhoneNumbers({
      ...api,
      path: { account_id: accountId },
      query: {
        descending: false,
        page_size: shown,
        filters: { key_missing: 'used_by' },
        ...(typed === '' ? {} : { start_key: typed }),
      },
      signal,
    }),
  )
  const data = found.data?.data
  return data && !Array.isArray(data) ? Object.keys(data.numbers) : []
}

/** The numbers whose calls a server gets. */
export const ServerNumbers: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  const [start] = useDebouncedValue(typed, 250)
  const free = useFreeNumbers(start)
  const { value } = form.getInputProps(path)
  const numbers: Readonly<Record<string, Json | undefined>> = isObject(value) ? value : {}
  const refused = Object.entries(form.errors).filter(([field]) => field.startsWith(`${path}.`))
  return (
    <TagsInput
      label={labelOf(path)}
      description={t('trunks.didsText')}
      data={free}
      value={Object.keys(numbers)}
      onChange={(wanted) =>
        form.setFieldValue(path, Object.fromEntries(wanted.map((number) => [number, numbers[number] ?? {}])))
      }
      searchValue={typed}
      onSearchChange={setTyped}
      error={
        refused.length > 0 &&
        refused.map(([field, text]) => <div key={field}>{`${field.split('.').at(-1)}: ${text}`}</div>)
      }
      style={{ gridColumn: '1 / -1' }}
    />
  )
}
