import { type AuditEntry, listAudit } from '@crosspoint/client'
import { Group, Select } from '@mantine/core'
import { ScrollText } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useActorName } from '../../lib/actors.ts'
import { listOf } from '../../lib/list-source.ts'
import { gregorianNow, showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { kinds } from './kinds.ts'
import { useKindName } from './sentences.ts'

const Sentence = ({ entry: { id, actor, action, record } }: { entry: AuditEntry }) => {
  const { t } = useTranslation()
  const to = useTo()
  const kindName = useKindName()
  const who = useActorName(actor)
  return (
    <ToScreen to={to(`events/audit/${id}`)}>
      <bdi>{t(`events.sentence.${action}`, { who, kind: kindName(record.kind), name: record.name })}</bdi>
    </ToScreen>
  )
}

const secondsOfDay = 86_400
const spans = ['1', '7', '31'] as const

const useColumns = (): readonly Column<AuditEntry>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return [
    { id: 'sentence', title: t('events.what'), show: (entry) => <Sentence entry={entry} /> },
    { id: 'at', title: t('events.when'), isExtra: true, show: ({ at }) => showTime(at, timezone) },
    {
      id: 'changes',
      title: t('events.fields'),
      isExtra: true,
      isNumber: true,
      show: ({ changes }) => changes.length,
    },
  ]
}

/** Who changed what in the account, newest first. */
export const AuditList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const kindName = useKindName()
  const columns = useColumns()
  const [kind, setKind] = useState<string | null>(null)
  const [action, setAction] = useState<string | null>(null)
  const [days, setDays] = useState<string | null>(null)
  const [since, setSince] = useState<number>()
  const chooseDays = (chosen: string | null) => {
    setDays(chosen)
    setSince(chosen === null ? undefined : gregorianNow() - Number(chosen) * secondsOfDay)
  }
  const query = {
    ...(kind === null ? {} : { kind }),
    ...(action === null ? {} : { action }),
    ...(since === undefined ? {} : { created_from: String(since) }),
  }
  return (
    <>
      <Group mb="md" align="flex-end">
        <Select
          label={t('events.kindOf')}
          placeholder={t('events.any')}
          data={kinds.map((value) => ({ value, label: kindName(value) }))}
          value={kind}
          onChange={setKind}
          searchable
          clearable
        />
        <Select
          label={t('events.done')}
          placeholder={t('events.any')}
          data={['created', 'edited', 'deleted'].map((value) => ({ value, label: t(`history.${value}`) }))}
          value={action}
          onChange={setAction}
          clearable
        />
        <Select
          label={t('events.since')}
          placeholder={t('events.everything')}
          data={spans.map((value) => ({ value, label: t('events.days', { count: Number(value) }) }))}
          value={days}
          onChange={chooseDays}
          clearable
        />
      </Group>
      <RowList
        label={t('events.audit')}
        queryKey={['audit', accountId, query]}
        list={listOf(listAudit, { path: { account_id: accountId }, query })}
        order={{ by: 'at', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty Icon={ScrollText} text={t('events.noAudit')} />}
      />
    </>
  )
}
