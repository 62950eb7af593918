import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

/** What is known of one thing: a row for each fact, by its title. */
export const FactTable = ({
  label,
  facts,
}: {
  label: string
  facts: readonly (readonly [title: string, value: ReactNode])[]
}) => (
  <Table aria-label={label}>
    <Table.Tbody>
      {facts.map(([title, value]) => (
        <Table.Tr key={title}>
          <Table.Th scope="row">{title}</Table.Th>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
)
