import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { type JsonObject, recordOf } from '../../lib/json.ts'
import { useSchema } from '../../lib/schemas.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Fields, type RecordForm, valuesFor, withNumbers } from '../../parts/fields.tsx'
import { Loading } from '../../parts/screen.tsx'
import { useNumbersChange, type Wish } from './changes.ts'
import { groupsForSeveral, own } from './fields.tsx'
import { type NumberResult, OutcomeDialog } from './outcome.tsx'

const isGiven = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.values(value).some(isGiven)
    : value !== undefined && !(Array.isArray(value) && value.length === 0)

/** The fields that were filled in, and nothing of the others: they stay as they are on each number. */
const givenOf = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(recordOf(values)).filter(([, value]) => isGiven(value)))

const ChangeForm = ({ busy, onChange }: { busy: boolean; onChange: (fields: JsonObject) => void }) => {
  const { t } = useTranslation()
  const { schema } = useSchema('phone_numbers')
  const form: RecordForm = useForm<JsonObject>({ initialValues: valuesFor({}, groupsForSeveral) })
  if (!schema) return <Loading />
  return (
    <form
      onSubmit={form.onSubmit((values) => onChange(givenOf(withNumbers(values, groupsForSeveral, schema))))}
      noValidate
    >
      <Stack>
        <Text size="sm">{t('numbers.changeSeveralText')}</Text>
        <Fields form={form} schema={schema} groups={groupsForSeveral} own={own} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!form.isDirty()}>
            {t('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Actions on several numbers and their results. */
export const Several = ({ numbers, onDone }: { numbers: readonly string[]; onDone: () => void }) => {
  const { t } = useTranslation()
  const { actsForMaster } = usePlace()
  const [asked, setAsked] = useState<'release' | 'remove' | 'change'>()
  const [results, setResults] = useState<readonly NumberResult[]>()
  const change = useNumbersChange((found) => {
    setAsked(undefined)
    setResults(found)
  })
  const carryOut = (wish: Wish) => change.mutate({ wish, numbers })
  const count = numbers.length
  const isToGo = asked === 'release' || asked === 'remove'
  return (
    <>
      <Button size="xs" loading={change.isPending && !asked} onClick={() => carryOut({ to: 'activate' })}>
        {t('numbers.activate')}
      </Button>
      <Button size="xs" variant="default" onClick={() => setAsked('change')}>
        {t('numbers.change')}
      </Button>
      <Button size="xs" variant="default" onClick={() => setAsked('release')}>
        {t('numbers.release')}
      </Button>
      {actsForMaster && (
        <Button size="xs" variant="default" onClick={() => setAsked('remove')}>
          {t('numbers.remove')}
        </Button>
      )}
      <Confirm
        opened={isToGo}
        title={t(asked === 'remove' ? 'numbers.removeTitle' : 'numbers.releaseTitle', { count })}
        text={t(asked === 'remove' ? 'numbers.removeText' : 'numbers.releaseText')}
        action={t(asked === 'remove' ? 'numbers.remove' : 'numbers.release')}
        busy={change.isPending}
        onConfirm={() => isToGo && carryOut({ to: asked })}
        onClose={() => setAsked(undefined)}
      />
      <Modal
        opened={asked === 'change'}
        onClose={() => setAsked(undefined)}
        size="xl"
        title={t('numbers.changeSeveral', { count })}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <ChangeForm busy={change.isPending} onChange={(fields) => carryOut({ to: 'change', fields })} />
      </Modal>
      <OutcomeDialog
        results={results}
        onClose={() => {
          setResults(undefined)
          onDone()
        }}
      />
    </>
  )
}
