import { listPhoneNumberClassifiers } from '@crosspoint/client'
import { MultiSelect, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject, type Json } from '../../lib/json.ts'
import { Field, labelOf, type OwnField } from '../../parts/fields.tsx'

const settings = ['regex', 'prefix', 'suffix', 'weight_cost', 'enabled', 'emergency'] as const

/** Classes of numbers by their names. */
const useClasses = () => {
  const { accountId } = usePlace()
  const found = useAnswer(['account', accountId, 'classifiers'], (signal) =>
    listPhoneNumberClassifiers({ ...api, path: { account_id: accountId }, signal }),
  )
  const classes = Object.entries(found.data?.data ?? {})
  return new Map(
    classes.map(([name, about]) => [
      name,
      isObject(about) && typeof about.friendly_name === 'string' ? about.friendly_name : name,
    ]),
  )
}

/** The classes of numbers that the carrier takes, with their own settings. */
export const NumberClasses: OwnField = ({ form, path, schema }) => {
  const { t } = useTranslation()
  const known = useClasses()
  const { value, error } = form.getInputProps(path)
  const chosen: Readonly<Record<string, Json | undefined>> = isObject(value) ? value : {}
  const names = Object.keys(chosen)
  const choose = (wanted: readonly string[]) =>
    form.setFieldValue(
      path,
      // An empty object would mean that no call is for the carrier.
      wanted.length === 0
        ? undefined
        : Object.fromEntries(wanted.map((name) => [name, chosen[name] ?? { enabled: true }])),
    )
  const labelFor = (name: string) => known.get(name) ?? name
  return (
    <Stack gap="sm" style={{ gridColumn: '1 / -1' }}>
      <MultiSelect
        label={labelOf(path)}
        description={t('carriers.classesText')}
        placeholder={names.length === 0 ? t('carriers.anyClass') : undefined}
        data={[...new Set([...known.keys(), ...names])].map((name) => ({
          value: name,
          label: labelFor(name),
        }))}
        value={names}
        onChange={choose}
        error={error}
        searchable
        maw="60rem"
      />
      {names.map((name) => (
        <Paper key={name} withBorder p="md" role="group" aria-label={labelFor(name)}>
          <Stack gap="sm">
            <Text fw={600}>{labelFor(name)}</Text>
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm">
              {settings.map((one) => (
                <Field key={one} form={form} schema={schema} path={`${path}.${name}.${one}`} />
              ))}
            </SimpleGrid>
          </Stack>
        </Paper>
      ))}
    </Stack>
  )
}
