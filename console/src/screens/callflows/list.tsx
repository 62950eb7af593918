import { listCallflows } from '@crosspoint/client'
import { Badge } from '@mantine/core'
import { SearchX, Workflow } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { filtered, listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
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
  const { accountId, isPlainUser } = usePlace()
  const to = useTo()
  const [text, setText] = useState('')
  const { served } = useServedModules()
  const add = !isPlainUser && <ButtonToScreen to={to('callflows/new')}>{t('callflows.new')}</ButtonToScreen>
  const textsOf = (row: CallflowRow) => [titleOf(row), ...row.numbers, ...row.patterns]
  return (
    <Screen title={t('screens.callflows')} actions={add}>
      <SearchBox label={t('callflows.search')} onSearch={setText} />
      <RowList<CallflowRow>
        label={t('screens.callflows')}
        queryKey={['callflow', accountId, text]}
        list={filtered<CallflowRow>(
          listOf(listCallflows, { path: { account_id: accountId } }),
          text,
          textsOf,
        )}
        order={{ by: 'name', descending: false }}
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
            <Empty
              Icon={Workflow}
              text={t('callflows.empty')}
              next={!isPlainUser && { to: to('callflows/new'), label: t('callflows.new') }}
            />
          ) : (
            <Empty Icon={SearchX} text={t('callflows.noneFound')} />
          )
        }
      />
    </Screen>
  )
}
