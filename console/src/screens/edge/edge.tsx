import { Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { AccessList } from './access-list.tsx'
import { PacketLimits } from './packet-limits.tsx'
import { pathOf, type Subject } from './subject.ts'
import { Tester } from './tester.tsx'

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <Stack component="section" aria-label={title} gap="sm">
    <Title order={2} size="h4">
      {title}
    </Title>
    {children}
  </Stack>
)

/** What an edge asks of an account or a device, on one page. */
export const Edge = ({ subject }: { subject: Subject }) => {
  const { t } = useTranslation()
  return (
    <Stack gap="xl" maw="60rem" key={pathOf(subject)}>
      <Part title={t('edge.accessList')}>
        <AccessList subject={subject} />
      </Part>
      <Part title={t('edge.packetLimits')}>
        <PacketLimits subject={subject} level={3} />
      </Part>
      <Part title={t('edge.tester')}>
        <Tester subject={subject} />
      </Part>
    </Stack>
  )
}
