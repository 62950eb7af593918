import { NumberInput, Stack, Table, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { numberIn, showNumber } from '../../lib/amounts.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type Json, type JsonObject, recordOf } from '../../lib/json.ts'
import { type RecordForm, setProblems, valuesFor } from '../../parts/fields.tsx'
import { Loading } from '../../parts/screen.tsx'
import { Actions } from './actions.tsx'
import { counters, periods } from './figures.ts'
import { type Kept, useEditing, useKept } from './kept.ts'
import type { Subject } from './subject.ts'

const part = 'rate_limits'

/** An account limits itself and each of its devices; a device only itself. */
const sectionsOf = ({ device }: Subject) => (device ? [''] : ['account.', 'device.'])

/** Periods without values and sections without periods are left out. */
const withoutEmpty = (limits: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(limits)
      .map(([key, value]) => [key, isObject(value) ? withoutEmpty(value) : value] as const)
      .filter(([, value]) => !isObject(value) || Object.keys(value).length > 0),
  )

const limitsOf = (values: JsonObject) => withoutEmpty(recordOf(values))

const figureAt = (limits: Json | undefined, path: string) => {
  const found = path
    .split('.')
    .reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), limits)
  return typeof found === 'number' ? found : undefined
}

interface SectionProps {
  form: RecordForm
  /** Before the paths of its figures: '' or with a dot behind. */
  section: string
  effective: Json | undefined
  /** The heading level, one below its parent. */
  level: 2 | 3
}

const Figure = ({
  form,
  path,
  label,
  effective,
}: Omit<SectionProps, 'section' | 'level'> & { path: string; label: string }) => {
  const { t } = useTranslation()
  const input = form.getInputProps(path)
  const holds = figureAt(effective, path)
  return (
    <>
      <Table.Td>
        <NumberInput
          {...input}
          value={typeof input.value === 'number' ? input.value : ''}
          // `007` stays text during typing.
          onChange={(typed) => input.onChange(numberIn(typed) ?? '')}
          aria-label={label}
          placeholder={t('edge.fromAbove')}
          allowDecimal={false}
          clampBehavior="none"
          hideControls
        />
      </Table.Td>
      <Table.Td>{holds === undefined ? '' : showNumber(holds)}</Table.Td>
    </>
  )
}

const Section = ({ form, section, effective, level }: SectionProps) => {
  const { t } = useTranslation()
  const title = t(section === '' ? 'edge.ofThisDevice' : `edge.of.${section.slice(0, -1)}`)
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Title order={level} size="h5">
        {title}
      </Title>
      <Table.ScrollContainer minWidth={560}>
        <Table aria-label={title} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('edge.packets')}</Table.Th>
              {periods.map((period) => [
                <Table.Th key={period}>{t(`edge.${period}`)}</Table.Th>,
                <Table.Th key={`${period} holds`}>{t('edge.holds')}</Table.Th>,
              ])}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {counters.map((counter) => (
              <Table.Tr key={counter}>
                <Table.Td>{t(`edge.${counter}`)}</Table.Td>
                {periods.map((period) => (
                  <Figure
                    key={period}
                    form={form}
                    path={`${section}${period}.${counter}`}
                    label={`${t(`edge.${counter}`)}, ${t(`edge.${period}`)}, ${title}`}
                    effective={effective}
                  />
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  )
}

const Form = ({ subject, kept, level }: { subject: Subject; kept: Kept; level: 2 | 3 }) => {
  const { t } = useTranslation()
  const sections = sectionsOf(subject)
  const paths = sections.flatMap((section) =>
    periods.flatMap((period) => counters.map((counter) => `${section}${period}.${counter}`)),
  )
  const valuesOf = (record: JsonObject) => valuesFor(record, [{ title: part, fields: paths }])
  const editing = useEditing({ subject, part, kept, valuesOf, recordOf: limitsOf, setProblems })
  return (
    <form onSubmit={editing.form.onSubmit(editing.save)} noValidate>
      <Stack gap="md">
        <Text size="sm">{t(subject.device ? 'edge.deviceLimitsText' : 'edge.accountLimitsText')}</Text>
        {sections.map((section) => (
          <Section
            key={section}
            form={editing.form}
            section={section}
            effective={kept.metadata.effective}
            level={level}
          />
        ))}
        <Actions
          editing={editing}
          removal={{
            action: t('edge.removeLimits'),
            title: t('edge.removeLimitsTitle'),
            text: t('edge.removeLimitsText'),
          }}
        />
      </Stack>
    </form>
  )
}

/** The packet limits of an account or a device, with the inherited values. */
export const PacketLimits = ({ subject, level }: { subject: Subject; level: 2 | 3 }) => {
  const found = useKept(subject, part)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  return found.data ? <Form subject={subject} kept={found.data} level={level} /> : <Loading />
}
