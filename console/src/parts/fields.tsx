import { CrosspointError } from '@crosspoint/client'
import {
  Button,
  Card,
  Group,
  JsonInput,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import i18next from 'i18next'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { numberIn, showNumber } from '../lib/amounts.ts'
import { isObject, type Json, type JsonObject, valueAt } from '../lib/json.ts'
import { isListOfText, isRequired, type Schema, schemaAt } from '../lib/schemas.ts'

export type RecordForm = UseFormReturnType<JsonObject>

/** Fields under one heading, by their dotted paths. */
export interface FieldGroup {
  title: string
  fields: readonly string[]
  /** Each field takes the whole width. */
  isWide?: boolean
}

interface FieldProps {
  form: RecordForm
  path: string
  schema: Schema
}

/** A field that the schema alone cannot show: a choice among other records, say. */
export type OwnField = (props: FieldProps) => ReactNode

const unitEndings = { s: 'seconds', ms: 'milliseconds', days: 'days', months: 'months' } as const

const endingOf = (key: string) =>
  /_(s|ms|days|months)$/.exec(key)?.[1] as keyof typeof unitEndings | undefined

const spaced = (key: string) => {
  const words = key
    .replace(/_m?s$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/\b(?:api|http|ip|mms|rpc|sip|sms|ssl|ui|url)\b/g, (word) => word.toUpperCase())
    .trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The translated name of a field, else the schema's title, else the key in words. */
export const labelOf = (path: string, part?: Schema) => {
  const key = path.split('.').at(-1) ?? path
  return i18next.t(`field.${path.replaceAll('.', '_')}`, {
    defaultValue: i18next.t(`field.${key}`, { defaultValue: part?.title ?? spaced(key) }),
  })
}

const choiceLabel = (value: string) => i18next.t(`choice.${value}`, { defaultValue: spaced(value) })

/** A label with what a number counts: `Timeout (seconds)`. */
const withUnit = (label: string, path: string, part: Schema) => {
  const ending = part.type === 'integer' || part.type === 'number' ? endingOf(path) : undefined
  const unit = part['x-unit'] ?? (ending && unitEndings[ending])
  if (unit === undefined) return label
  const shown = i18next.t(`units.${unit.replaceAll(' ', '_')}`, { defaultValue: unit })
  return label.toLowerCase().includes(shown.toLowerCase()) ? label : `${label} (${shown})`
}

/** A default in words: a field that is left empty has it. */
const showDefault = ({ default: value, enum: choices }: Schema) => {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return i18next.t(value ? 'yes' : 'no')
  if (typeof value === 'number') return showNumber(value)
  if (Array.isArray(value)) return value.length === 0 ? i18next.t('none') : value.join(', ')
  return choices ? choiceLabel(String(value)) : String(value)
}

const choicesOf = (part: Schema) =>
  part.enum?.map((value) => ({ value: String(value), label: choiceLabel(String(value)) })) ?? []

const isSameJson = (one: string, other: string) => {
  if (one === other) return true
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other))
  } catch {
    return false
  }
}

const TextOfJson = ({ form, path, common }: { form: RecordForm; path: string; common: object }) => {
  const input = form.getInputProps(path)
  const text =
    typeof input.value === 'string' ? input.value : JSON.stringify(input.value ?? null, undefined, 2)
  // Typed text is kept until the value changes elsewhere.
  const [typed, setTyped] = useState(text)
  const shown = isSameJson(typed, text) ? typed : text
  const take = (given: string) => {
    setTyped(given)
    try {
      input.onChange(JSON.parse(given))
    } catch {
      input.onChange(given)
    }
  }
  return (
    <JsonInput
      {...common}
      autosize
      minRows={3}
      maxRows={16}
      value={shown}
      onChange={take}
      error={input.error}
      validationError={i18next.t('record.invalidJson')}
    />
  )
}

/** The help of a field in the language of the user. The schema has it in English. */
const helpOf = (path: string, part: Schema) =>
  i18next.t(`help.${path.replaceAll('.', '_')}`, {
    defaultValue: i18next.language === 'en' ? (part.description ?? '') : '',
  }) || undefined

/** One field as the schema describes it. */
export const Field = ({ form, path, schema }: FieldProps) => {
  const part = schemaAt(schema, path) ?? {}
  const input = form.getInputProps(path)
  const common = {
    label: withUnit(labelOf(path, part), path, part),
    description: helpOf(path, part),
    required: isRequired(schema, path),
    withAsterisk: isRequired(schema, path),
    disabled: part.readOnly,
  }
  if (part.enum) {
    const { value } = input
    return (
      <Select
        {...common}
        {...input}
        value={value == null ? null : String(value)}
        data={choicesOf(part)}
        placeholder={showDefault(part)}
        clearable={!common.required}
      />
    )
  }
  switch (part.type) {
    case 'boolean': {
      const { value, ...rest } = input
      return <Switch {...common} {...rest} checked={(value ?? part.default) === true} mt="lg" />
    }
    case 'integer':
    case 'number':
      return (
        <NumberInput
          {...common}
          {...input}
          // A text while it is typed: `4.` is on its way to 4.5.
          value={typeof input.value === 'number' || typeof input.value === 'string' ? input.value : ''}
          placeholder={showDefault(part)}
          min={part.minimum}
          max={part.maximum}
          allowDecimal={part.type === 'number'}
          clampBehavior="none"
        />
      )
    case 'string': {
      const text = {
        ...common,
        ...input,
        value: input.value ?? '',
        maxLength: part.maxLength,
        placeholder: showDefault(part),
      }
      return part.writeOnly || part['x-secret'] === 'masked' ? (
        <PasswordInput {...text} autoComplete="new-password" />
      ) : (
        <TextInput {...text} dir="auto" />
      )
    }
    default:
      if (part.items?.enum)
        return (
          <MultiSelect
            {...common}
            {...input}
            value={Array.isArray(input.value) ? input.value.map(String) : []}
            data={choicesOf(part.items)}
          />
        )
      return isListOfText(part) ? (
        <TagsInput {...common} {...input} value={Array.isArray(input.value) ? input.value.map(String) : []} />
      ) : (
        <TextOfJson form={form} path={path} common={common} />
      )
  }
}

/** A field whose value is not the default, with a button that sets the default again. */
const ResettableField = ({ form, path, schema, children }: FieldProps & { children: ReactNode }) => {
  const { t } = useTranslation()
  const part = schemaAt(schema, path) ?? {}
  const value = form.getInputProps(path).value as Json | undefined
  const isDefault =
    value === undefined || value === '' || JSON.stringify(value) === JSON.stringify(part.default)
  const fallback = showDefault(part)
  const reset = () => {
    form.setFieldValue(path, Array.isArray(part.default) ? part.default : undefined)
    form.getInputNode(path)?.focus()
  }
  // The field stays in its place while it is typed into: it would lose the focus.
  return (
    <Stack gap={4}>
      {children}
      {!isDefault && fallback !== undefined && (
        <Group gap="xs">
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {t('record.default', { value: fallback })}
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={t('record.resetNamed', { name: labelOf(path, part) })}
            onClick={reset}
          >
            {t('record.reset')}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

/** The fields of a record, group by group; those that need more than the schema are given as `own`. */
export const Fields = ({
  form,
  schema,
  groups,
  own = {},
  canReset = false,
}: {
  form: RecordForm
  schema: Schema
  groups: readonly FieldGroup[]
  own?: Readonly<Record<string, OwnField>>
  /** Each value can be set to its default again. */
  canReset?: boolean
}) => {
  const { t } = useTranslation()
  return (
    <Stack gap="md" maw="60rem">
      {groups.map(({ title, fields, isWide }) => (
        <Card key={title} component="section" aria-label={t(title)} padding="lg">
          <Title order={2} size="h3" mb="md">
            {t(title)}
          </Title>
          <SimpleGrid cols={{ base: 1, md: isWide ? 1 : 2 }} spacing="md" verticalSpacing="sm">
            {fields.map((path) => {
              const Own = own[path] ?? Field
              const field = { form, path, schema }
              return canReset ? (
                <ResettableField key={path} {...field}>
                  <Own {...field} />
                </ResettableField>
              ) : (
                <Own key={path} {...field} />
              )
            })}
          </SimpleGrid>
        </Card>
      ))}
    </Stack>
  )
}

/** A record as values of a form: a field that is not there is an empty one, at every depth that a group names. */
export const valuesFor = (record: JsonObject, groups: readonly FieldGroup[]): JsonObject => {
  const values: Record<string, Json | undefined> = structuredClone({ ...record })
  for (const path of groups.flatMap(({ fields }) => fields)) {
    const keys = path.split('.')
    let holder = values
    for (const key of keys.slice(0, -1)) {
      const inner: Record<string, Json | undefined> = isObject(holder[key]) ? { ...holder[key] } : {}
      holder[key] = inner
      holder = inner
    }
  }
  return values
}

const withValueAt = (
  holder: JsonObject,
  [key = '', ...rest]: readonly string[],
  value: number,
): JsonObject => ({
  ...holder,
  [key]: rest.length === 0 ? value : withValueAt(isObject(holder[key]) ? holder[key] : {}, rest, value),
})

const isNumber = ({ type, enum: choices }: Schema = {}) =>
  !choices && (type === 'integer' || type === 'number')

/** Form values with numbers for number fields, even during typing: `4.50` is 4.5. */
export const withNumbers = (values: JsonObject, groups: readonly FieldGroup[], schema: Schema): JsonObject =>
  groups
    .flatMap(({ fields }) => fields)
    .filter((path) => isNumber(schemaAt(schema, path)))
    .reduce((changed, path) => {
      const typed = valueAt(changed, path)
      const value = typeof typed === 'string' ? numberIn(typed) : undefined
      return value === undefined ? changed : withValueAt(changed, path.split('.'), value)
    }, values)

/** Shows each problem at its field, and goes to the first one. Answers with whether there was a field for any. */
export const setProblems = (form: RecordForm, error: unknown) => {
  if (!(error instanceof CrosspointError) || error.problems.length === 0) return false
  form.setErrors(Object.fromEntries(error.problems.map(({ field, message }) => [field, message])))
  const first = error.problems.find(({ field }) => form.getInputNode(field))
  if (first) form.getInputNode(first.field)?.focus()
  return first !== undefined
}
