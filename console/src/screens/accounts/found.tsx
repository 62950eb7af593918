import { Stack, Table, Text } from '@mantine/core'
import { SearchX } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { findAccounts, mostOfEach } from '../../lib/find-accounts.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'

/** Accounts below by what is typed: name, realm, or a number of theirs. */
export const FoundAccounts = ({ text }: { text: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const found = useAnswer(['account', accountId, 'search', text], (signal) =>
    findAccounts(accountId, text, signal),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { rows, isCut } = found.data
  if (rows.length === 0) return <Empty Icon={SearchX} text={t('accounts.noneFound')} />
  return (
    <Stack gap="xs">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="row-list" aria-label={t('screens.accounts')} tabIndex={0}>
        <Table stickyHeader highlightOnHover aria-label={t('screens.accounts')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('accounts.name')}</Table.Th>
              <Table.Th visibleFrom="sm">{t('accounts.realm')}</Table.Th>
              <Table.Th ta="end">{t('accounts.below')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ id, name, realm, number, descendants_count = 0 }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <div className="row-cell">
                    <bdi>
                      <ToScreen to={to(`accounts/${id}`)}>{name}</ToScreen>
                    </bdi>
                  </div>
                  {number !== undefined && (
                    <Text size="xs" c="dimmed">
                      {t('accounts.byNumber', { number })}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td visibleFrom="sm">
                  <div className="row-cell">{realm}</div>
                </Table.Td>
                <Table.Td ta="end">{showNumber(descendants_count)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
      {isCut && (
        <Text size="sm" c="dimmed">
          {t('accounts.mostFound', { count: mostOfEach })}
        </Text>
      )}
    </Stack>
  )
}
