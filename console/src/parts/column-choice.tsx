import { Button, Checkbox, Menu } from '@mantine/core'
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
    <Menu closeOnItemClick={false} position="top-end" withinPortal={false}>
      <Menu.Target>
        <Button variant="default" size="compact-sm" leftSection={<Columns3 size={14} aria-hidden />}>
          {t('list.columns')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {columns.map(({ id, title }) => (
          <Menu.Item
            key={id}
            role="menuitemcheckbox"
            aria-checked={isShown(id)}
            leftSection={<Checkbox.Indicator checked={isShown(id)} size="xs" />}
            onClick={() => onToggle(id)}
          >
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
