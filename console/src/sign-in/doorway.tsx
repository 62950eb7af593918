import { Container, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { lazy, type ReactNode, Suspense } from 'react'
import { useBrand } from '../frame/place.tsx'

const Welcome = lazy(async () => ({ default: (await import('./welcome.tsx')).Welcome }))

/** The page of visitors who are not signed in: brand and sign-in. */
export const Doorway = ({ title, children }: { title: string; children: ReactNode }) => {
  const { name, logoUrl, welcomeUrl, title: brandTitle } = useBrand()
  useDocumentTitle(`${title} · ${brandTitle}`)
  return (
    <Container component="main" size={440} py="xl">
      <Stack>
        {logoUrl ? (
          <img src={logoUrl} alt={name} style={{ maxHeight: 64, maxWidth: '100%', objectFit: 'contain' }} />
        ) : (
          <Text ta="center" fw={700} size="xl" dir="auto" style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Text>
        )}
        <Paper withBorder p="lg" radius="md">
          <Stack>
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
        {welcomeUrl && (
          <Suspense fallback={null}>
            <Welcome url={welcomeUrl} />
          </Suspense>
        )}
      </Stack>
    </Container>
  )
}
