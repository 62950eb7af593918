import { getWhitelabelDomains } from '@crosspoint/client'
import { Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { gregorianOf, showTime } from '../../lib/times.ts'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'
import { useBrandRecord } from './brand-record.ts'
import { useDnsCheck } from './dns-check.ts'
import { CheckBar, DnsLine, stateOf } from './dns-line.tsx'

const NoDomain = () => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <Stack align="start">
      <Text>{t('brand.noDomain')}</Text>
      <ButtonToScreen to={to('brand')}>{t('brand.setDomain')}</ButtonToScreen>
    </Stack>
  )
}

const Records = ({ domain }: { domain: string }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const dns = useDnsCheck()
  const found = useAnswer(['whitelabel', accountId, 'domains', domain], (signal) =>
    getWhitelabelDomains({ ...api, path: { account_id: accountId }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const lines = Object.entries(found.data.data).flatMap(([type, hosts]) =>
    Object.entries(hosts).map(([host, entry]) => ({
      type,
      host,
      ...entry,
      check: dns.records?.[type]?.[host],
    })),
  )
  const right = lines.filter(({ check }) => check?.matches).length
  return (
    <Stack>
      <Text>{t('brand.dns.explanation', { domain })}</Text>
      <CheckBar dns={dns} showClock={(at) => showTime(gregorianOf(at), timezone)} />
      {dns.error && <FailureNote error={dns.error} />}
      {dns.records && (
        <Text fw={600} role="status">
          {t('brand.dns.sum', { right, count: lines.length })}
        </Text>
      )}
      <Stack
        component="ul"
        gap={0}
        p={0}
        m={0}
        style={{ listStyle: 'none' }}
        aria-label={t('brand.dns.records')}
      >
        {lines.map(({ type, host, mapping, name, check }) => (
          <DnsLine
            key={`${type} ${host}`}
            type={type}
            host={host}
            expected={mapping}
            purpose={name}
            state={stateOf(check)}
            actual={check?.actual}
            error={check?.error}
          />
        ))}
      </Stack>
    </Stack>
  )
}

/** The DNS records that the brand's domain needs, and which of them are there. */
export const Domain = () => {
  const { record } = useBrandRecord()
  const domain = record?.data.domain ?? ''
  return domain === '' ? <NoDomain /> : <Records domain={domain} />
}
