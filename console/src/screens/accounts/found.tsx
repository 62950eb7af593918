import {
  CrosspointError,
  getAccount,
  identifyPhoneNumber,
  type SearchResult,
  searchByFields,
} from '@crosspoint/client'
import { Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'

// As many as the API finds by each field.
const mostOfEach = 50
const fewestDigits = 5

/** What may be a telephone number: digits, and what people write between them. */
const isNumber = (text: string) =>
  /^\+?[\d\s()./-]+$/.test(text) && text.replace(/\D/g, '').length >= fewestDigits

interface Found extends SearchResult {
  /** The number that it was found by. */
  number?: string
}

const byNumber = async (accountId: string, text: string, signal: AbortSignal): Promise<Found[]> => {
  if (!isNumber(text)) return []
  try {
    const path = { account_id: accountId, phone_number: text.replace(/[^\d+]/g, '') }
    const { data } = await identifyPhoneNumber({ ...api, path, signal })
    const owner = await getAccount({ ...api, path: { account_id: data.account_id }, signal })
    const { id, name, realm, descendants_count } = owner.data
    return [{ id, name, realm, descendants_count, number: data.number }]
  } catch (error) {
    // Not a number, an unassigned number, or a number of a foreign account.
    if (error instanceof CrosspointError && [400, 403, 404].includes(error.status)) return []
    throw error
  }
}

const find = async (accountId: string, text: string, signal: AbortSignal) => {
  const query = { t: 'account', by_name: text, by_realm: text }
  const path = { account_id: accountId }
  const [owners, { data: byField }] = await Promise.all([
    byNumber(accountId, text, signal),
    searchByFields({ ...api, path, query, signal }),
  ])
  const all = [...owners, ...Object.values(byField).flat()]
  const once = new Map(all.toReversed().map((one) => [one.id, one]))
  return {
    rows: [...once.values()].toReversed(),
    isCut: Object.values(byField).some((rows) => rows.length === mostOfEach),
  }
}

/** Accounts below by what is typed: name, realm, or a number of theirs. */
export const FoundAccounts = ({ text }: { text: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const found = useAnswer(['account', accountId, 'search', text], (signal) => find(accountId, text, signal))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { rows, isCut } = found.data
  if (rows.length === 0) return <Text>{t('accounts.noneFound')}</Text>
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
