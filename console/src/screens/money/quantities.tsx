import { Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { showNumber } from '../../lib/amounts.ts'
import { isObject, showJson } from '../../lib/json.ts'
import { ManualCounts } from './manual-counts.tsx'
import { useSells } from './rights.ts'
import { partAt } from './values.ts'
import { Wide } from './wide.tsx'

const Counted = ({ quantities }: { quantities: object }) => {
  const { t } = useTranslation()
  const rows = (['account', 'cascade', 'manual'] as const).flatMap((where) =>
    Object.entries(partAt(quantities, where) ?? {}).flatMap(([category, items]) =>
      Object.entries(isObject(items) ? items : {}).map(([item, count]) => ({ where, category, item, count })),
    ),
  )
  if (rows.length === 0) return <Text>{t('money.nothingCounted')}</Text>
  return (
    <Wide label={t('money.quantities')}>
      <Table aria-label={t('money.quantities')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('money.category')}</Table.Th>
            <Table.Th>{t('money.item')}</Table.Th>
            <Table.Th>{t('money.counted')}</Table.Th>
            <Table.Th ta="end">{t('charges.quantity')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ where, category, item, count }) => (
            <Table.Tr key={`${where} ${category} ${item}`}>
              <Table.Td>{category}</Table.Td>
              <Table.Td>{item}</Table.Td>
              <Table.Td>{t(`money.countedWhere.${where}`)}</Table.Td>
              <Table.Td ta="end">{typeof count === 'number' ? showNumber(count) : showJson(count)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  )
}

/** Quantities by category: counted and manual. */
export const Quantities = ({ quantities }: { quantities: object }) => {
  const sells = useSells()
  const manual = partAt(quantities, 'manual')
  return (
    <Stack gap="lg">
      <Counted quantities={quantities} />
      {sells && <ManualCounts manual={isObject(manual) ? manual : {}} />}
    </Stack>
  )
}
