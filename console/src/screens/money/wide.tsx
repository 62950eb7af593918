import { Box } from '@mantine/core'
import type { ReactNode } from 'react'

/** What is wider than a phone scrolls in itself, and can be reached by keyboard. */
export const Wide = ({ label, children }: { label: string; children: ReactNode }) => (
  <Box role="group" aria-label={label} tabIndex={0} style={{ overflowX: 'auto' }}>
    {children}
  </Box>
)
