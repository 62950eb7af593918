import { listCallflows, listPhoneNumbers } from '@crosspoint/client'
import { Alert, Stack, Switch, TagsInput, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import type { OwnField } from '../../parts/fields.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { noMatch, titleOf } from './titles.ts'

/** Phone numbers of the account that nothing uses yet. */
const useFreeNumbers = (text: string) => {
  const { accountId } = usePlace()
  const start = text.startsWith('+') ? { start_key: text } : {}
  const query = { page_size: 20, descending: false, filters: { key_missing: 'used_by' }, ...start }
  const found = useAnswer(['number', accountId, 'free', start], (signal) =>
    listPhoneNumbers({ ...api, path: { account_id: accountId }, query, signal }),
  )
  const numbers = found.data?.data
  return numbers && !Array.isArray(numbers) ? Object.keys(numbers.numbers) : []
}

// A longer list does not fit into an address.
const maxChecked = 100

/** Other callflows that have one of the numbers. */
const useHolders = (numbers: readonly string[], callflowId: unknown) => {
  const { accountId } = usePlace()
  const wanted = JSON.stringify(numbers.slice(-maxChecked))
  const found = useAnswer(
    ['callflow', accountId, 'of numbers', wanted],
    (signal) =>
      listCallflows({ ...api, path: { account_id: accountId }, query: { filter_numbers: wanted }, signal }),
    { enabled: numbers.length > 0 },
  )
  return (numbers.length > 0 ? (found.data?.data ?? []) : []).filter(({ id }) => id !== callflowId)
}

/** The numbers that lead to the callflow. */
export const NumbersField: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const to = useTo()
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed, 250)
  const { value, onChange, ...input } = form.getInputProps(path)
  const all: string[] = Array.isArray(value) ? value.map(String) : []
  const numbers = all.filter((number) => number !== noMatch)
  const takesOthers = all.includes(noMatch)
  const set = (listed: readonly string[], isForOthers: boolean) =>
    onChange([...listed, ...(isForOthers ? [noMatch] : [])])
  const free = useFreeNumbers(text)
  const holders = useHolders(all, form.getValues().id)
  return (
    <Stack gap="sm">
      <TagsInput
        {...input}
        label={t('callflows.numbers')}
        description={t('callflows.numbersHelp')}
        value={numbers}
        data={free}
        searchValue={typed}
        onSearchChange={setTyped}
        onChange={(listed) => set(listed, takesOthers)}
      />
      {holders.map((holder) => {
        const shared = holder.numbers.filter((one) => all.includes(one))
        // The server may have completed a number.
        const taken = (shared.length > 0 ? shared : holder.numbers).join(', ')
        return (
          <Alert
            key={holder.id}
            color="orange"
            variant="outline"
            icon={<TriangleAlert aria-hidden />}
            role="alert"
          >
            <Text size="sm">{t('callflows.taken', { numbers: taken })}</Text>
            <ToScreen to={to(`callflows/${holder.id}`)}>{titleOf(holder)}</ToScreen>
          </Alert>
        )
      })}
      <Switch
        label={t('callflows.noMatch')}
        description={t('callflows.noMatchHelp')}
        checked={takesOthers}
        onChange={({ currentTarget: { checked } }) => set(numbers, checked)}
      />
    </Stack>
  )
}
