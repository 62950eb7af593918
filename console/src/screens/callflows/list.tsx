import { listCallflows } from '@crosspoint/client'
import { Badge, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { filtered } from '../../lib/pages.ts'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { useServedModules } from './editor.ts'
import { moduleName } from './modules.ts'
import { numberName, titleOf } from './titles.ts'

interface CallflowRow {
  id: string
  name?: string
  numbers: readonly string[]
  patterns: readonly string[]
  featurecode?: unknown
  modules: readonly string[]
}

/** The callflows of an account. */
export const CallflowList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [text, setText] = useState('')
  const { served } = useServedModules()
  const add = <ButtonToScreen to={to('callflows/new')}>{t('callflows.new')}</ButtonToScreen>
  const textsOf = (row: CallflowRow) => [titleOf(row), ...row.numbers, ...row.patterns]
  return (
    <Screen title={t('screens.callflows')} actions={add}>
      <SearchBox label={t('callflows.search')} onSearch={setText} />
      <RowList<CallflowRow>
        label={t('screens.callflows')}
        queryKey={['callflow', accountId, text]}
        read={filtered(text, textsOf, (start_key, signal) => {
          const query = { start_key, descending: false }
          return listCallflows({ ...api, path: { account_id: accountId }, query, signal })
        })}
        columns={[
          {
            id: 'name',
            title: t('callflows.name'),
            show: (row) => (
              <ToScreen to={to(`callflows/${row.id}`)}>
                <bdi>{titleOf(row)}</bdi>
              </ToScreen>
            ),
          },
          {
            id: 'numbers',
            title: t('callflows.numbers'),
            show: ({ numbers, patterns }) => [...numbers.map(numberName), ...patterns].join(', '),
          },
          {
            id: 'modules',
            title: t('callflows.steps'),
            isExtra: true,
            show: ({ modules }) => modules.map(moduleName).join(', '),
          },
          {
            id: 'state',
            title: t('callflows.needs'),
            isExtra: true,
            show: ({ modules }) =>
              served && !modules.every((module) => served.has(module)) ? (
                <Badge color="orange">{t('callflows.mediaServer')}</Badge>
              ) : null,
          },
        ]}
        rowKey={({ id }) => id}
        empty={
          text === '' ? (
            <Stack align="flex-start">
              <Text>{t('callflows.empty')}</Text>
              {add}
            </Stack>
          ) : (
            <Text>{t('callflows.noneFound')}</Text>
          )
        }
      />
    </Screen>
  )
}
