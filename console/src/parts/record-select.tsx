import {
  getCallflow,
  getDevice,
  getGroup,
  getUser,
  listCallflows,
  listDevices,
  listGroups,
  listUsers,
  search,
} from '@crosspoint/client'
import { Select, type SelectProps } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { usePlace } from '../frame/place.tsx'
import { useAnswer } from '../lib/answers.ts'
import { api } from '../lib/api.ts'
import { schemaAt } from '../lib/schemas.ts'
import { labelOf, type OwnField } from './fields.tsx'

const shown = 20

export type RecordKind = 'user' | 'device' | 'group' | 'callflow'

interface Named {
  id: string
  name?: string
  first_name?: string
  last_name?: string
  username?: string
  numbers?: readonly string[]
}

const nameOf = ({ id, name, first_name, last_name, username, numbers = [] }: Named) => {
  const called = name ?? [first_name, last_name].filter(Boolean).join(' ')
  return username ? `${called} (${username})` : called || numbers.join(', ') || id
}

type Read = (accountId: string, text: string, signal: AbortSignal) => Promise<{ data: readonly object[] }>

const found =
  (kind: 'user' | 'device', list: typeof listUsers | typeof listDevices): Read =>
  (account_id, text, signal) =>
    text === ''
      ? list({ ...api, path: { account_id }, query: { page_size: shown, descending: false }, signal })
      : search({ ...api, path: { account_id }, query: { t: kind, q: 'name', v: text }, signal })

// An account has few groups and callflows, for which there is no search.
const all =
  (list: typeof listGroups | typeof listCallflows): Read =>
  (account_id, _text, signal) =>
    list({ ...api, path: { account_id }, query: { paginate: false }, signal })

const kinds = {
  user: {
    isSearched: true,
    read: found('user', listUsers),
    one: (account_id: string, id: string, signal: AbortSignal) =>
      getUser({ ...api, path: { account_id, user_id: id }, signal }),
  },
  device: {
    isSearched: true,
    read: found('device', listDevices),
    one: (account_id: string, id: string, signal: AbortSignal) =>
      getDevice({ ...api, path: { account_id, device_id: id }, signal }),
  },
  group: {
    isSearched: false,
    read: all(listGroups),
    one: (account_id: string, id: string, signal: AbortSignal) =>
      getGroup({ ...api, path: { account_id, group_id: id }, signal }),
  },
  callflow: {
    isSearched: false,
    read: all(listCallflows),
    one: (account_id: string, id: string, signal: AbortSignal) =>
      getCallflow({ ...api, path: { account_id, callflow_id: id }, signal }),
  },
}

/** The name of a record; its ID while the name is not known. */
export const useRecordName = (kind: RecordKind, id: string, known?: string) => {
  const { accountId } = usePlace()
  const read = useAnswer<{ data: Named }>(
    [kind, accountId, id, 'name'],
    (signal) => kinds[kind].one(accountId, id, signal),
    { enabled: known === undefined && id !== '' },
  )
  return known ?? (read.data ? nameOf(read.data.data) : id)
}

const useChoices = (kind: RecordKind, text: string) => {
  const { accountId } = usePlace()
  const { isSearched, read } = kinds[kind]
  const wanted = isSearched ? text : ''
  const answer = useAnswer([kind, accountId, 'choice', wanted], (signal) => read(accountId, wanted, signal))
  return (answer.data?.data ?? []) as readonly Named[]
}

interface RecordChoiceProps
  extends Pick<SelectProps, 'label' | 'placeholder' | 'error' | 'size' | 'withAsterisk'> {
  kind: RecordKind
  value: string | null
  onChange: (id: string | null) => void
  /** IDs that are not offered. */
  without?: readonly string[]
}

/** One of the records of the account, found by the beginning of a name. */
export const RecordChoice = ({ kind, value, without = [], ...rest }: RecordChoiceProps) => {
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed, 250)
  const records = useChoices(kind, text).filter(({ id }) => !without.includes(id))
  const choices = records.map((record) => ({ value: record.id, label: nameOf(record) }))
  const isListed = value === null || choices.some((one) => one.value === value)
  // The selected record may not be among the first ones.
  const label = useRecordName(kind, value ?? '', isListed ? '' : undefined)
  const data = isListed ? choices : [...choices, { value, label }]
  return (
    <Select
      {...rest}
      value={value}
      data={data}
      searchable
      clearable
      limit={100}
      {...(kinds[kind].isSearched && { filter: ({ options }) => options })}
      onSearchChange={(given) => setTyped(data.some((one) => one.label === given) ? '' : given)}
    />
  )
}

/** The same as a field of a record. */
export const recordSelect =
  (kind: RecordKind): OwnField =>
  ({ form, path, schema }) => {
    const input = form.getInputProps(path)
    const value = typeof input.value === 'string' && input.value !== '' ? input.value : null
    return <RecordChoice {...input} kind={kind} value={value} label={labelOf(path, schemaAt(schema, path))} />
  }
