import { Center, Group, Loader, Stack, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useBrand } from '../frame/place.tsx'

/** A screen under its heading, with what can be done on it. */
export const Screen = ({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ReactNode
  children: ReactNode
}) => {
  useDocumentTitle(`${title} · ${useBrand().title}`)
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }} dir="auto">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

export const Loading = () => {
  const { t } = useTranslation()
  return (
    <Center mih={160}>
      <Loader role="status" aria-label={t('loading')} />
    </Center>
  )
}
