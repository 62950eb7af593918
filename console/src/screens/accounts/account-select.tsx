import { search } from '@crosspoint/client'
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useAnswer } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'

const shown = 20

interface AccountSelect {
  label: string
  description: string
  value: string | null
  /** Those that cannot be chosen. */
  except: readonly string[]
  onChange: (id: string | null) => void
}

/** Selects the account of the signed-in user or one of its sub-accounts, by the beginning of its name. */
export const AccountSelect = ({ label, description, value, except, onChange }: AccountSelect) => {
  const session = crosspoint.session()
  const accountId = session?.accountId ?? ''
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed, 250)
  const found = useAnswer(['account', accountId, 'choice', text], (signal) => {
    const query = { t: 'account', q: 'name', v: text, page_size: shown, descending: false }
    return search({ ...api, path: { account_id: accountId }, query, signal })
  })
  const own = { value: accountId, label: session?.login.account_name ?? accountId }
  const below = (found.data?.data ?? []).map(({ id, name, realm }) => ({
    value: id,
    label: `${name} (${realm})`,
  }))
  const isOwnMeant = own.label.toLowerCase().startsWith(text.toLowerCase())
  const choices = [...(isOwnMeant ? [own] : []), ...below].filter((one) => !except.includes(one.value))
  return (
    <Select
      label={label}
      description={description}
      value={value}
      onChange={onChange}
      data={choices}
      searchable
      required
      filter={({ options }) => options}
      onSearchChange={(given) => setTyped(choices.some((one) => one.label === given) ? '' : given)}
    />
  )
}
