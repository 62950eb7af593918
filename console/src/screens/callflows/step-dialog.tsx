import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isObject, type JsonObject, recordOf, valueAt } from '../../lib/json.ts'
import { defaultsOf, type Schema, schemaAt, useSchema } from '../../lib/schemas.ts'
import { Fields, type OwnField, type RecordForm, valuesFor, withNumbers } from '../../parts/fields.tsx'
import { type Member, MembersInput } from '../../parts/members-input.tsx'
import { RecordChoice, type RecordKind } from '../../parts/record-select.tsx'
import { Loading } from '../../parts/screen.tsx'
import { useEditor } from './editor.ts'
import { changeAt, dataOf, insertAt, moduleOf, moveTo, nextKey, type Path, stepAt } from './flow.ts'
import { mediaModules, moduleName } from './modules.ts'

/** A record that a step names, such as the user whom it rings. */
const recordOfStep =
  (kind: RecordKind): OwnField =>
  ({ form, path }) => {
    const { t } = useTranslation()
    const { callflowId } = useEditor()
    const input = form.getInputProps(path)
    const value = typeof input.value === 'string' && input.value !== '' ? input.value : null
    const own = kind === 'callflow' && callflowId !== undefined ? [callflowId] : []
    return (
      <RecordChoice
        {...input}
        kind={kind}
        value={value}
        without={own}
        label={t(`callflows.kind.${kind}`)}
        withAsterisk
      />
    )
  }

const membersOf = (value: unknown): Member[] =>
  (Array.isArray(value) ? value : []).filter(isObject).map(({ endpoint_type, id, ...settings }) => ({
    type: String(endpoint_type),
    id: String(id),
    settings,
  }))

const Endpoints: OwnField = ({ form, path, schema }) => {
  const { nameOf } = useEditor()
  const { value, onChange } = form.getInputProps(path)
  return (
    <MembersInput
      members={membersOf(value)}
      onChange={(members) =>
        onChange(members.map(({ type, id, settings }) => ({ endpoint_type: type, id, ...settings })))
      }
      schema={schemaAt(schema, path)?.items ?? {}}
      knownName={nameOf}
    />
  )
}

const Strategy: OwnField = ({ form, path, schema }) => {
  const { t } = useTranslation()
  const { enum: values = [], default: usual } = schemaAt(schema, path) ?? {}
  const input = form.getInputProps(path)
  return (
    <Select
      {...input}
      label={t('callflows.strategyLabel')}
      value={String(input.value ?? usual)}
      allowDeselect={false}
      data={values.map((value) => ({ value: String(value), label: t(`callflows.strategy.${value}`) }))}
    />
  )
}

const ownFor = (module: string): Readonly<Record<string, OwnField>> => ({
  'data.endpoints': Endpoints,
  'data.strategy': Strategy,
  ...((module === 'user' || module === 'device' || module === 'callflow') && {
    'data.id': recordOfStep(module),
  }),
})

interface SettingsProps {
  module: string
  /** The schema of the settings. */
  schema: Schema
  data: JsonObject
  action: string
  onDone: (data: JsonObject) => void
  onCancel: () => void
}

const SettingsForm = ({ module, schema, data, action, onDone, onCancel }: SettingsProps) => {
  const { t } = useTranslation()
  const keys = Object.keys(schema.properties ?? {})
  const isJson = schema.properties === undefined
  const fields = isJson ? ['data'] : keys.map((key) => `data.${key}`)
  const groups = fields.length > 0 ? [{ title: 'callflows.settings', fields, isWide: true }] : []
  const whole: Schema = { properties: { data: schema } }
  const form: RecordForm = useForm<JsonObject>({
    initialValues: valuesFor({ data }, groups),
    validate: (values) => {
      if (!isObject(values.data)) return { data: t('record.noJson') }
      const lacking = (schema.required ?? []).filter((key) => !valueAt(values, `data.${key}`))
      return Object.fromEntries(lacking.map((key) => [`data.${key}`, t('callflows.required')]))
    },
  })
  const send = form.onSubmit((values) => {
    const { data: given = {} } = isJson ? values : recordOf(withNumbers(values, groups, whole))
    onDone(isObject(given) ? given : {})
  })
  return (
    <form
      noValidate
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        // The form of the callflow is around this one.
        event.stopPropagation()
        send(event)
      }}
    >
      <Stack>
        <Fields form={form} schema={whole} groups={groups} own={ownFor(module)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {t('cancel')}
          </Button>
          <Button type="submit">{action}</Button>
        </Group>
      </Stack>
    </form>
  )
}

const anySettings: Schema = { type: 'object' }

const ServedSettings = ({
  data,
  ...rest
}: Omit<SettingsProps, 'schema' | 'data'> & { data?: JsonObject }) => {
  const { schema } = useSchema(`callflows.${rest.module}`)
  return schema ? (
    <SettingsForm {...rest} schema={{ properties: {}, ...schema }} data={data ?? defaultsOf(schema)} />
  ) : (
    <Loading />
  )
}

/** A new step below another one, or the settings of a step. */
export const StepDialog = ({
  parent,
  branch,
  isNew,
}: {
  /** Undefined: the first step. */
  parent: Path | undefined
  /** The branch key, if it is known. */
  branch: string | undefined
  isNew: boolean
}) => {
  const { t } = useTranslation()
  const { flow, change, close, served } = useEditor()
  const path = parent ? [...parent, branch ?? ''] : []
  const step = isNew ? undefined : stepAt(flow, path)
  const [module, setModule] = useState(step ? moduleOf(step) : 'user')
  const [key, setKey] = useState(branch ?? '')
  const [lacksKey, setLacksKey] = useState(false)
  const mayChooseKey = parent !== undefined && branch !== nextKey
  const returnTo = isNew ? (parent ?? []) : path
  const done = (data: JsonObject) => {
    if (mayChooseKey && key.trim() === '') return setLacksKey(true)
    const place = parent ? [...parent, key.trim()] : []
    const changed = isNew
      ? insertAt(flow, place, { module, data, children: {} })
      : moveTo(
          changeAt(flow, path, (old) => ({ ...old, module, data })),
          path,
          place,
        )
    change(changed, place)
  }
  const kept = step && moduleOf(step) === module ? dataOf(step) : undefined
  const common = {
    module,
    action: t(isNew ? 'callflows.addStep' : 'callflows.apply'),
    onDone: done,
    onCancel: () => close(returnTo),
  }
  const known = new Set([...served, ...mediaModules])
  const choices = (modules: readonly string[]) =>
    modules
      .map((value) => ({ value, label: moduleName(value) }))
      .toSorted((one, other) => one.label.localeCompare(other.label))
  return (
    <Modal
      opened
      size="lg"
      returnFocus={false}
      onClose={() => close(returnTo)}
      title={t(isNew ? 'callflows.newStep' : 'callflows.changeStep')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Select
          label={t('callflows.moduleLabel')}
          value={module}
          searchable
          allowDeselect={false}
          onChange={(chosen) => chosen && setModule(chosen)}
          data={[
            ...(known.has(module) ? [] : choices([module])),
            { group: t('callflows.servedModules'), items: choices([...served]) },
            {
              group: t('callflows.mediaModules'),
              items: choices(mediaModules.filter((one) => !served.has(one))),
            },
          ]}
        />
        {mayChooseKey && (
          <TextInput
            label={t('callflows.branchKey')}
            description={t('callflows.branchKeyHelp')}
            required
            error={lacksKey && t('callflows.required')}
            value={key}
            onChange={({ currentTarget: { value } }) => setKey(value)}
          />
        )}
        {served.has(module) ? (
          <ServedSettings key={module} {...common} data={kept} />
        ) : (
          <>
            <Text size="sm">{t('callflows.mediaServerStep')}</Text>
            <SettingsForm key={module} {...common} schema={anySettings} data={kept ?? {}} />
          </>
        )}
      </Stack>
    </Modal>
  )
}
