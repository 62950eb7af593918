import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

/** What is known of something, fact by fact. */
export const Facts = ({
  rows,
  label,
}: {
  label: string
  rows: readonly { name: ReactNode; key: string; value: ReactNode }[]
}) => (
  <Table aria-label={label} layout="fixed" maw="60rem">
    <Table.Tbody>
      {rows.map(({ key, name, value }) => (
        <Table.Tr key={key}>
          <Table.Th scope="row" w="40%" style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Table.Th>
          <Table.Td style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            <bdi>{value}</bdi>
          </Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
)
