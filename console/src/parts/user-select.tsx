import { listUsers, search } from '@crosspoint/client'
import { Select, type SelectProps } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { usePlace } from '../frame/place.tsx'
import { useAnswer } from '../lib/answers.ts'
import { api } from '../lib/api.ts'
import { schemaAt } from '../lib/schemas.ts'
import { labelOf, type OwnField } from './fields.tsx'

const shown = 20

interface Named {
  id: string
  first_name?: string
  last_name?: string
  username?: string
}

const nameOf = ({ id, first_name, last_name, username }: Named) => {
  const name = [first_name, last_name].filter(Boolean).join(' ')
  return username ? `${name} (${username})` : name || id
}

interface UserChoiceProps extends Pick<SelectProps, 'label' | 'placeholder' | 'error' | 'size'> {
  value: string | null
  onChange: (id: string | null) => void
}

const useUsers = (text: string) => {
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const found = useAnswer<{ data: readonly Named[] }>(['user', accountId, 'choice', text], async (signal) =>
    text === ''
      ? listUsers({ ...api, path, query: { page_size: shown }, signal })
      : {
          data: (await search({ ...api, path, query: { t: 'user', q: 'name', v: text }, signal }))
            .data as readonly Named[],
        },
  )
  return found.data?.data ?? []
}

/** One of the users of the account, found by the beginning of a name. */
export const UserChoice = ({ value, label, ...rest }: UserChoiceProps) => {
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed, 250)
  const users = useUsers(text)
  const choices = users.map((user) => ({ value: user.id, label: nameOf(user) }))
  // The selected user may not be among the first ones.
  const data =
    value && !choices.some((one) => one.value === value) ? [...choices, { value, label: value }] : choices
  return (
    <Select
      {...rest}
      value={value}
      label={label}
      data={data}
      searchable
      clearable
      filter={({ options }) => options}
      onSearchChange={(given) => setTyped(choices.some(({ label }) => label === given) ? '' : given)}
    />
  )
}

/** The same as a field of a record. */
export const UserSelect: OwnField = ({ form, path, schema }) => {
  const input = form.getInputProps(path)
  const value = typeof input.value === 'string' ? input.value : null
  return <UserChoice {...input} value={value} label={labelOf(path, schemaAt(schema, path))} />
}
