import { getDevice } from '@crosspoint/client'
import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { AccessList } from './access-list.tsx'
import { SubjectSelect } from './device-select.tsx'
import { PacketLimits } from './packet-limits.tsx'
import { pathOf, type Subject } from './subject.ts'
import { Tester } from './tester.tsx'

/** The device of the address of the page, when there is one. */
const useSubject = () => {
  const { accountId, realm } = usePlace()
  const { deviceId = '' } = useParams()
  const path = { account_id: accountId, device_id: deviceId }
  const found = useAnswer(['device', accountId, deviceId], (signal) => getDevice({ ...api, path, signal }), {
    enabled: deviceId !== '',
  })
  const record = found.data?.data
  const device = record && {
    id: deviceId,
    username: record.sip?.username,
    realm: record.sip?.realm ?? realm,
  }
  const subject: Subject | undefined =
    deviceId === '' ? { accountId } : device ? { accountId, device } : undefined
  return { subject, name: record?.name, error: found.error, again: found.refetch }
}

const Subjects = ({ subject }: { subject: Subject }) => {
  const { t } = useTranslation()
  return (
    <Tabs defaultValue="list" keepMounted={false} key={pathOf(subject)}>
      <Tabs.List mb="md">
        <Tabs.Tab value="list">{t('edge.accessList')}</Tabs.Tab>
        <Tabs.Tab value="limits">{t('edge.packetLimits')}</Tabs.Tab>
        <Tabs.Tab value="tester">{t('edge.tester')}</Tabs.Tab>
      </Tabs.List>
      {/* Keeps typed text while another tab is shown. */}
      <Tabs.Panel value="list" keepMounted maw="60rem">
        <AccessList subject={subject} />
      </Tabs.Panel>
      <Tabs.Panel value="limits" keepMounted maw="60rem">
        <PacketLimits subject={subject} level={2} />
      </Tabs.Panel>
      <Tabs.Panel value="tester" maw="60rem">
        <Tester subject={subject} />
      </Tabs.Panel>
    </Tabs>
  )
}

/** Whom the edge lets in, and how much they may send. */
export const EdgeScreen = () => {
  const { t } = useTranslation()
  const to = useTo()
  const [, go] = useLocation()
  const { subject, name, error, again } = useSubject()
  if (error) return <FailureNote error={error} again={again} />
  if (!subject) return <Loading />
  const { device } = subject
  return (
    <Screen title={t('edge.title')}>
      <SubjectSelect
        chosen={device && { value: device.id, label: name ?? device.id }}
        onChoose={(deviceId) => go(to(deviceId === undefined ? 'edge' : `edge/devices/${deviceId}`))}
      />
      <Subjects subject={subject} />
    </Screen>
  )
}
