import { Button, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDown, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'

/** Content that opens on request. */
export const Unfold = ({ label, children }: { label: string; children: ReactNode }) => {
  const [opened, { toggle }] = useDisclosure(false)
  return (
    <Stack gap="xs" align="stretch">
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={opened}
        onClick={toggle}
        leftSection={opened ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        style={{ alignSelf: 'flex-start' }}
      >
        {label}
      </Button>
      {opened && children}
    </Stack>
  )
}
