import { ScrollArea, Table } from '@mantine/core'

/** Lines of a CSV file, numbered as the rows of the file are. */
export const SheetTable = ({
  label,
  header,
  rows,
}: {
  label: string
  header: readonly string[]
  rows: readonly { number: number; cells: readonly string[] }[]
}) => (
  <ScrollArea.Autosize
    mah={480}
    type="auto"
    viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}
  >
    <Table aria-label={label} stickyHeader fz="sm" withColumnBorders>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>#</Table.Th>
          {header.map((name, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns of a file may have the same name
            <Table.Th key={at}>
              <bdi>{name}</bdi>
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ number, cells }) => (
          <Table.Tr key={number}>
            <Table.Td c="dimmed">{number}</Table.Td>
            {header.map((_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the column identifies a cell
              <Table.Td key={at} className="row-cell">
                <bdi>{cells[at]}</bdi>
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </ScrollArea.Autosize>
)
