import { ActionIcon, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'

/** What can be done with a row of a list, as an icon: a text would not fit on a phone. */
export const RowAction = ({
  label,
  onClick,
  children,
}: {
  label: string
  onClick: () => void
  children: ReactNode
}) => (
  <Tooltip label={label}>
    <ActionIcon variant="default" aria-label={label} onClick={onClick}>
      {children}
    </ActionIcon>
  </Tooltip>
)
