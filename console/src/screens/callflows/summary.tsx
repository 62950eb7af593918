import { useTranslation } from 'react-i18next'
import { isObject, type Json } from '../../lib/json.ts'
import { type RecordKind, useRecordName } from '../../parts/record-select.tsx'
import { useEditor } from './editor.ts'
import { dataOf, moduleOf, type Step } from './flow.ts'
import { shortened } from './modules.ts'

const textOf = (value: Json | undefined) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

const isMemberKind = (kind: unknown): kind is RecordKind =>
  kind === 'user' || kind === 'device' || kind === 'group'

const Name = ({ kind, id }: { kind: RecordKind; id: string }) => (
  <bdi>{useRecordName(kind, id, useEditor().nameOf(id))}</bdi>
)

const Ringing = ({ kind, step }: { kind: RecordKind; step: Step }) => {
  const { t } = useTranslation()
  const { id, timeout, delay } = dataOf(step)
  if (typeof id !== 'string' || id === '') return t('callflows.nothingChosen')
  return (
    <>
      <Name kind={kind} id={id} />
      {textOf(timeout) !== '' && ` · ${t('callflows.forSeconds', { seconds: textOf(timeout) })}`}
      {textOf(delay) !== '' && delay !== 0 && ` · ${t('callflows.afterSeconds', { seconds: textOf(delay) })}`}
    </>
  )
}

const shownMembers = 3

const Members = ({ step }: { step: Step }) => {
  const { t } = useTranslation()
  const { endpoints, strategy } = dataOf(step)
  const members = (Array.isArray(endpoints) ? endpoints : []).flatMap((one: Json) =>
    isObject(one) && typeof one.id === 'string' && isMemberKind(one.endpoint_type)
      ? [{ kind: one.endpoint_type, id: one.id }]
      : [],
  )
  if (members.length === 0) return t('callflows.nothingChosen')
  return (
    <>
      {members.slice(0, shownMembers).map(({ kind, id }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Name kind={kind} id={id} />
        </span>
      ))}
      {members.length > shownMembers && ` +${members.length - shownMembers}`}
      {` · ${t(`callflows.strategy.${textOf(strategy) || 'simultaneous'}`, { defaultValue: textOf(strategy) })}`}
    </>
  )
}

// More settings do not fit on a card.
const shownSettings = 3

/** The most important settings of a step. */
export const Summary = ({ step }: { step: Step }) => {
  const { t } = useTranslation()
  const module = moduleOf(step)
  const data = dataOf(step)
  switch (module) {
    case 'user':
    case 'device':
    case 'callflow':
      return <Ringing kind={module} step={step} />
    case 'ring_group':
      return <Members step={step} />
    case 'resources':
    case 'offnet':
      return textOf(data.to_did) || t('callflows.dialledNumber')
    case 'response':
      return `${textOf(data.code) || '486'} ${textOf(data.message)}`
    default:
      return Object.entries(data)
        .filter(([, value]) => textOf(value) !== '')
        .slice(0, shownSettings)
        .map(([key, value]) => `${key}: ${shortened(textOf(value))}`)
        .join(' · ')
  }
}
