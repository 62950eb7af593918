import { Button, Group, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useChange } from '../lib/answers.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { defaultsOf, type Schema, useSchema } from '../lib/schemas.ts'
import { tellDone } from '../lib/toasts.tsx'
import {
  type FieldGroup,
  Fields,
  type OwnField,
  type RecordForm,
  recordFrom,
  setProblems,
  valuesFor,
} from './fields.tsx'
import { Loading } from './screen.tsx'

interface NewRecordProps {
  kind: string
  schemaName: string
  groups: readonly FieldGroup[]
  own?: Readonly<Record<string, OwnField>>
  initial?: JsonObject
  create: (record: JsonObject) => Promise<{ data?: unknown }>
  /** Where the new record is shown. Absent: the screen stays, and shows what was created itself. */
  to?: (id: string) => string
}

const idIn = (data: unknown) => (isObject(data) && typeof data.id === 'string' ? data.id : '')

/** The parts of a record that a form for a new one asks for. */
const asked = (schema: Schema, groups: readonly FieldGroup[]): JsonObject => {
  const defaults = defaultsOf(schema)
  const keys = new Set(groups.flatMap(({ fields }) => fields.map((path) => path.split('.')[0])))
  return Object.fromEntries(Object.entries(defaults).filter(([key]) => keys.has(key)))
}

const NewRecordForm = ({
  schema,
  kind,
  groups,
  own,
  initial,
  create,
  to,
}: NewRecordProps & { schema: Schema }) => {
  const { t } = useTranslation()
  const [, go] = useLocation()
  const form: RecordForm = useForm<JsonObject>({
    initialValues: valuesFor({ ...asked(schema, groups), ...initial }, groups),
  })
  const creating = useChange({
    touches: [kind],
    run: create,
    done: ({ data }) => {
      if (!to) return
      tellDone(t('created'))
      go(to(idIn(data)))
    },
    failed: (error) => setProblems(form, error),
  })
  return (
    <form
      onSubmit={form.onSubmit((values) => creating.mutate(recordFrom(values, groups, schema)))}
      noValidate
    >
      <Stack gap="lg">
        <Fields form={form} schema={schema} groups={groups} own={own} />
        <Group className="form-actions">
          <Button type="submit" loading={creating.isPending}>
            {t('create')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** A form for a record that is not there yet, filled with the defaults of its schema. */
export const NewRecord = (props: NewRecordProps) => {
  const { schema } = useSchema(props.schemaName)
  return schema ? <NewRecordForm schema={schema} {...props} /> : <Loading />
}
