import { CrosspointError } from '@crosspoint/client'
import { Alert, Radio, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { FailureNote } from '../../lib/failures.tsx'
import type { JsonObject } from '../../lib/json.ts'
import type { RecordForm } from '../../parts/fields.tsx'
import { Loading } from '../../parts/screen.tsx'
import { Actions } from './actions.tsx'
import { type Kept, useEditing, useKept } from './kept.ts'
import type { Subject } from './subject.ts'

const part = 'access_lists'
const onlyListed = 'allow,deny'
const allButListed = 'deny,allow'

const textsIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])

const valuesOf = (record: JsonObject): JsonObject => ({ order: onlyListed, cidrs: [], ...record })

const recordOf = ({ cidrs, user_agent, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  cidrs: textsIn(cidrs)
    .map((line) => line.trim())
    .filter((line) => line !== ''),
  ...(typeof user_agent === 'string' && user_agent !== '' ? { user_agent } : {}),
})

/** The list is one field: it shows the errors of all its lines. */
const setProblems = (form: RecordForm, error: unknown) => {
  if (!(error instanceof CrosspointError) || error.problems.length === 0) return false
  const messages = new Map<string, string[]>()
  for (const { field, message, value } of error.problems) {
    const [name = field, line] = field.split('.')
    const said = line === undefined ? message : `${value}: ${message}`
    messages.set(name, [...(messages.get(name) ?? []), said])
  }
  form.setErrors(Object.fromEntries([...messages].map(([name, said]) => [name, said.join('\n')])))
  form.getInputNode(messages.keys().next().value ?? '')?.focus()
  return true
}

/** The effect of the list as a sentence. */
const Meaning = ({ kept: { record } }: { kept: Kept }) => {
  const { t } = useTranslation()
  const count = textsIn(record.cidrs).length
  if (record.order === undefined) return <Text size="sm">{t('edge.noList')}</Text>
  if (record.order === onlyListed && count === 0) {
    return (
      <Alert color="orange" icon={<TriangleAlert aria-hidden />}>
        {t('edge.nobodyPasses')}
      </Alert>
    )
  }
  const meaning = record.order === onlyListed ? 'edge.onlyThese' : 'edge.allButThese'
  return <Text size="sm">{t(meaning, { count })}</Text>
}

const Order = ({ form }: { form: RecordForm }) => {
  const { t } = useTranslation()
  const { value, ...input } = form.getInputProps('order')
  return (
    <Radio.Group {...input} value={String(value)} label={t('edge.order')}>
      <Stack gap="xs" mt={4}>
        <Radio value={onlyListed} label={t('edge.only')} description={onlyListed} />
        <Radio value={allButListed} label={t('edge.allBut')} description={allButListed} />
      </Stack>
    </Radio.Group>
  )
}

const Form = ({ subject, kept }: { subject: Subject; kept: Kept }) => {
  const { t } = useTranslation()
  const editing = useEditing({ subject, part, kept, valuesOf, recordOf, setProblems })
  const { form, base, save } = editing
  const { value: cidrs, onChange, ...networks } = form.getInputProps('cidrs')
  const pattern = form.getInputProps('user_agent')
  // Only the list of a device is asked who sent the packet.
  const hasPattern = subject.device !== undefined || base.record.user_agent !== undefined
  return (
    <form onSubmit={form.onSubmit(save)} noValidate>
      <Stack gap="md">
        <Meaning kept={base} />
        <Order form={form} />
        <Textarea
          {...networks}
          label={t('edge.networks')}
          description={t('edge.networksText')}
          value={textsIn(cidrs).join('\n')}
          onChange={({ currentTarget: { value } }) => onChange(value === '' ? [] : value.split('\n'))}
          errorProps={{ style: { whiteSpace: 'pre-line' } }}
          autosize
          minRows={4}
          maxRows={16}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
        {hasPattern && (
          <TextInput
            {...pattern}
            value={pattern.value ?? ''}
            label={t('edge.userAgent')}
            description={t('edge.userAgentText')}
          />
        )}
        <Actions
          editing={editing}
          removal={{
            action: t('edge.removeList'),
            title: t('edge.removeListTitle'),
            text: t('edge.removeListText'),
          }}
        />
      </Stack>
    </form>
  )
}

/** Which addresses may send packets in the name of an account, or of a device. */
export const AccessList = ({ subject }: { subject: Subject }) => {
  const found = useKept(subject, part)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  return found.data ? <Form subject={subject} kept={found.data} /> : <Loading />
}
