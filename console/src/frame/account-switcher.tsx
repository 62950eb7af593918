import { type AccountRow, listChildren } from '@crosspoint/client'
import { Button, Combobox, Loader, Text, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Building2, ChevronsUpDown } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useAnswer } from '../lib/answers.ts'
import { api, crosspoint } from '../lib/api.ts'
import { type FoundAccount, findAccounts } from '../lib/find-accounts.ts'
import { type Place, usePlace } from './place.tsx'

type Offered = Pick<FoundAccount, 'id' | 'name' | 'realm' | 'number'>

const pauseMilliseconds = 250
const shownChildren = 10

/** Without a search: the way up to the account of the user, and the first accounts below the open one. */
const nearby = ({ accountId, above }: Place, children: readonly AccountRow[]): readonly Offered[] =>
  [...above, ...children].filter(({ id }) => id !== accountId)

const useOffered = (text: string, isOpen: boolean) => {
  const place = usePlace()
  const own = crosspoint.session()?.accountId ?? place.accountId
  const found = useAnswer(
    ['account', own, 'search', text],
    async (signal) => (await findAccounts(own, text, signal)).rows,
    { enabled: isOpen && text !== '' },
  )
  const children = useAnswer(
    ['account', place.accountId, 'children', 'first'],
    async (signal) => {
      const query = { page_size: shownChildren, descending: false }
      return (await listChildren({ ...api, path: { account_id: place.accountId }, query, signal })).data
    },
    { enabled: isOpen && text === '' },
  )
  const offered: readonly Offered[] | undefined =
    text === '' ? children.data && nearby(place, children.data) : found.data
  return { offered, isFailed: (text === '' ? children.error : found.error) !== null }
}

/** Shows the open account, and opens another one by name, realm or number. */
export const AccountSwitcher = ({ screen }: { screen: string }) => {
  const { t } = useTranslation()
  const place = usePlace()
  const [, go] = useLocation()
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed.trim(), pauseMilliseconds)
  const combobox = useCombobox({
    onDropdownClose: () => {
      combobox.resetSelectedOption()
      combobox.focusTarget()
      setTyped('')
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  })
  const { offered, isFailed } = useOffered(text, combobox.dropdownOpened)
  // Enter opens the first account found. The position among other rows means nothing in new ones.
  useEffect(() => {
    if (text !== '' && offered) combobox.selectFirstOption()
  }, [text, offered, combobox.selectFirstOption])
  const open = (id: string) => {
    combobox.closeDropdown()
    go(`/a/${id}/${screen}`)
  }
  return (
    <Combobox store={combobox} withinPortal={false} width={340} position="bottom-start" onOptionSubmit={open}>
      <Combobox.Target withAriaAttributes={false}>
        <Button
          variant="default"
          size="sm"
          className="account-switcher"
          leftSection={<Building2 size={16} aria-hidden />}
          rightSection={<ChevronsUpDown size={14} aria-hidden />}
          aria-label={t('frame.switchFrom', { account: place.name })}
          aria-expanded={combobox.dropdownOpened}
          onClick={() => combobox.toggleDropdown()}
        >
          <bdi>{place.name}</bdi>
        </Button>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={typed}
          onChange={({ currentTarget: { value } }) => setTyped(value)}
          placeholder={t('frame.findAccount')}
          aria-label={t('frame.findAccount')}
        />
        <Combobox.Options aria-label={t('screens.accounts')} mah={360} style={{ overflowY: 'auto' }}>
          {offered?.map(({ id, name, realm, number }) => (
            <Combobox.Option key={id} value={id}>
              <Text size="sm" dir="auto" truncate>
                {name}
              </Text>
              <Text size="xs" className="option-detail" truncate>
                {number ?? realm}
              </Text>
            </Combobox.Option>
          ))}
          {offered?.length === 0 && <Combobox.Empty>{t('frame.noAccountFound')}</Combobox.Empty>}
          {!offered && (
            <Combobox.Empty>{isFailed ? t('frame.notSearched') : <Loader size="xs" />}</Combobox.Empty>
          )}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}
