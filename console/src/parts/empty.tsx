import { Stack, Text } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import { ButtonToScreen } from './link.tsx'

interface Empty {
  Icon: LucideIcon
  /** Names the content of the list, or says why nothing is found. */
  text: string
  /** The next step, if the caller may take it. */
  next?: { to: string; label: string } | false | undefined
}

/** Shown instead of an empty list. */
export const Empty = ({ Icon, text, next }: Empty) => (
  <Stack align="center" gap="sm" py="lg" px="md">
    <Icon size={32} strokeWidth={1.5} aria-hidden color="var(--mantine-color-dimmed)" />
    <Text ta="center" c="dimmed" maw="28rem">
      {text}
    </Text>
    {next && (
      <ButtonToScreen to={next.to} variant="light">
        {next.label}
      </ButtonToScreen>
    )}
  </Stack>
)
