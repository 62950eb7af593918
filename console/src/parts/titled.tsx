import { Card, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** A section of a screen with a heading and a sentence. */
export const Titled = ({ title, text, children }: { title: string; text: string; children: ReactNode }) => (
  <Card component="section" aria-label={title}>
    <Stack gap="sm">
      <div>
        <Title order={2} size="h3">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {text}
        </Text>
      </div>
      {children}
    </Stack>
  </Card>
)

/** A few fields and their button in a line, sent by Enter too. */
export const LineForm = ({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) => (
  <form
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    <Group align="end" gap="sm">
      {children}
    </Group>
  </form>
)
