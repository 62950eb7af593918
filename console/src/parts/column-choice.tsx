import { Button, Checkbox, Popover, Stack } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { Columns3 } from 'lucide-react'
import { useTranslation } from 'react-i18next'

interface Choosable {
  id: string
  title: string
  isOptional?: boolean
}

interface Choice {
  columns: readonly Choosable[]
  isShown: (id: string) => boolean
  onToggle: (id: string) => void
}

/** The columns that the user has chosen for lists of a kind. The browser keeps what differs from the usual ones. */
export const useChosenColumns = <C extends Choosable>(kind: string, columns: readonly C[]) => {
  const [changed, setChanged] = useLocalStorage<readonly string[]>({
    key: `crosspoint.columns.${kind}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const isShown = (id: string) => {
    const isOptional = columns.some((column) => column.id === id && column.isOptional)
    return isOptional === changed.includes(id)
  }
  const [first, ...others] = columns
  const choice: Choice | undefined =
    others.length < 2
      ? undefined
      : {
          columns: others,
          isShown,
          onToggle: (id) =>
            setChanged(changed.includes(id) ? changed.filter((one) => one !== id) : [...changed, id]),
        }
  return { columns: columns.filter((column) => column === first || isShown(column.id)), choice }
}

/** The first column, which names the row, is always there. */
export const ColumnChoice = ({ columns, isShown, onToggle }: Choice) => {
  const { t } = useTranslation()
  return (
    <Popover position="top-end" withinPortal={false} trapFocus>
      <Popover.Target>
        <Button variant="default" size="compact-sm" leftSection={<Columns3 size={14} aria-hidden />}>
          {t('list.columns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('list.columns')}>
        <Stack gap="xs">
          {columns.map(({ id, title }) => (
            <Checkbox key={id} label={title} checked={isShown(id)} onChange={() => onToggle(id)} />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
