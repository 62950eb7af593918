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
import { isObject, type Json, type JsonObject, recordOf, valueAt } from '../lib/json.ts'
import { isListOfText, isRequired, type Schema, schemaAt } from '../lib/schemas.ts'

export type RecordForm = UseFormReturnType<JsonObject>

/** Fields under one heading, by their dotted paths. `servers.*.auth.ip`: a field of each item of a list. */
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

const unitEndings = { s: 'seconds', ms: 'milliseconds', d: 'days', days: 'days', months: 'months' } as const

const endingOf = (key: string) =>
  /_(s|ms|d|days|months)$/.exec(key)?.[1] as keyof typeof unitEndings | undefined

const spaced = (key: string) => {
  const words = key
    .replace(/_(?:m?s|d)$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/\b(?:api|http|ip|mms|rpc|sip|sms|ssl|ui|url)\b/g, (word) => word.toUpperCase())
    .trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The key of the texts of a field, the same for all items of a list. */
const textKeyOf = (path: string) => path.replace(/\.\d+\./g, '.').replaceAll('.', '_')

/** The translated name of a field, else the schema's title, else the key in words. */
export const labelOf = (path: string, part?: Schema) => {
  const key = path.split('.').at(-1) ?? path
  return i18next.t(`field.${textKeyOf(path)}`, {
    defaultValue: i18next.t(`field.${key}`, { defaultValue: part?.title ?? spaced(key) }),
  })
}

const choiceLabel = (path: string, value: string) =>
  i18next.t([`choice.${textKeyOf(path)}.${value}`, `choice.${value}`], { defaultValue: spaced(value) })

/** A label with what a number counts: `Timeout (seconds)`. */
const withUnit = (label: string, path: string, part: Schema) => {
  const ending = part.type === 'integer' || part.type === 'number' ? endingOf(path) : undefined
  const unit = part['x-unit'] ?? (ending && unitEndings[ending])
  if (unit === undefined) return label
  const shown = i18next.t(`units.${unit.replaceAll(' ', '_')}`, { defaultValue: unit })
  return label.toLowerCase().includes(shown.toLowerCase()) ? label : `${label} (${shown})`
}

/** A default in words: a field that is left empty has it. */
const showDefault = (path: string, { default: value, enum: choices }: Schema) => {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return i18next.t(value ? 'yes' : 'no')
  if (typeof value === 'number') return showNumber(value)
  if (Array.isArray(value)) return value.length === 0 ? i18next.t('none') : value.join(', ')
  return choices ? choiceLabel(path, String(value)) : String(value)
}

const choicesOf = (path: string, part: Schema) =>
  part.enum?.map(String).map((value) => ({ value, label: choiceLabel(path, value) })) ?? []

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
export const helpOf = (path: string, part?: Schema) =>
  i18next.t(`help.${textKeyOf(path)}`, {
    defaultValue: i18next.language === 'en' ? (part?.description ?? '') : '',
  }) || undefined

/** The marks of passwords and keys. A URL that may contain a password is shown. */
const hiddenMarks: ReadonlySet<string | undefined> = new Set(['masked', 'readable'])

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
        data={choicesOf(path, part)}
        placeholder={showDefault(path, part)}
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
          placeholder={showDefault(path, part)}
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
        placeholder: showDefault(path, part),
      }
      return part.writeOnly || hiddenMarks.has(part['x-secret']) ? (
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
            data={choicesOf(path, part.items)}
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
  const fallback = showDefault(path, part)
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

const itemKey = '*'

/** Whether it is a field of each item of a list. The list shows it. */
const isOfItems = (path: string) => path.split('.').includes(itemKey)

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
        <Card key={title} component="section" aria-label={t(title)} p={{ base: 'sm', sm: 'lg' }}>
          <Title order={2} size="h3" mb="md">
            {t(title)}
          </Title>
          <SimpleGrid cols={{ base: 1, md: isWide ? 1 : 2 }} spacing="md" verticalSpacing="sm">
            {fields
              .filter((path) => !isOfItems(path))
              .map((path) => {
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

const withHolders = (value: Json | undefined, [key = '', ...rest]: readonly string[]): Json | undefined => {
  if (key === itemKey)
    return Array.isArray(value) ? value.flatMap((item: Json) => withHolders(item, rest) ?? []) : value
  const holder = isObject(value) ? value : {}
  return rest.length === 0 ? holder : { ...holder, [key]: withHolders(holder[key], rest) }
}

/** A record as values of a form: a field that is not there is an empty one, at every depth that a group names. */
export const valuesFor = (record: JsonObject, groups: readonly FieldGroup[]): JsonObject =>
  groups
    .flatMap(({ fields }) => fields)
    .reduce<JsonObject>(
      (values, path) => withHolders(values, path.split('.')) as JsonObject,
      structuredClone(record),
    )

/** Without objects that a form added to items of lists and that stayed empty. */
const withoutHolders = (
  value: Json | undefined,
  [key = '', ...rest]: readonly string[],
): Json | undefined => {
  if (rest.length === 0) return value
  if (key === itemKey)
    return Array.isArray(value) ? value.flatMap((item: Json) => withoutHolders(item, rest) ?? []) : value
  if (!isObject(value)) return value
  const { [key]: holder, ...others } = value
  const inner = withoutHolders(holder, rest)
  return isObject(inner) && Object.keys(inner).length === 0 ? others : { ...others, [key]: inner }
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

/** The values of a form as the record to send. */
export const recordFrom = (values: JsonObject, groups: readonly FieldGroup[], schema: Schema): JsonObject =>
  groups
    .flatMap(({ fields }) => fields)
    .filter(isOfItems)
    .reduce<JsonObject>(
      (record, path) => withoutHolders(record, path.split('.')) as JsonObject,
      recordOf(withNumbers(values, groups, schema)),
    )

/** Shows each problem at its field, and goes to the first one. Answers with whether there was a field for any. */
export const setProblems = (form: RecordForm, error: unknown) => {
  if (!(error instanceof CrosspointError) || error.problems.length === 0) return false
  form.setErrors(Object.fromEntries(error.problems.map(({ field, message }) => [field, message])))
  const first = error.problems.find(({ field }) => form.getInputNode(field))
  if (first) form.getInputNode(first.field)?.focus()
  return first !== undefined
}
