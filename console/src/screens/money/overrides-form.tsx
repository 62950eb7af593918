import { Button, Group, Stack, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  changesBetween,
  isObject,
  type Json,
  type JsonObject,
  recordOf,
  withChanges,
} from '../../lib/json.ts'
import type { Schema } from '../../lib/schemas.ts'
import { type FieldGroup, Fields, type RecordForm, valuesFor } from '../../parts/fields.tsx'
import { PriceList } from './plan-items.tsx'
import { QuoteDialog, type TypedOverrides, type Wanted } from './quote-dialog.tsx'

const groups: readonly FieldGroup[] = [
  {
    title: 'money.planRest',
    fields: [
      'merge.strategy',
      'merge.priority',
      'bookkeeper.type',
      'bookkeeper.id',
      'bookkeeper.vendor_id',
      'ratedeck.id',
    ],
  },
  { title: 'money.planMore', fields: ['limits', 'applications', 'im'] },
]

/** Empty objects override nothing. */
const withoutIdle = (record: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(record).flatMap(([key, value]): (readonly [string, Json | undefined])[] => {
      if (!isObject(value)) return [[key, value]]
      const left = withoutIdle(value)
      return Object.keys(left).length === 0 ? [] : [[key, left]]
    }),
  )

interface OverridesProps {
  current: JsonObject
  /** The prices of the plan by category and item. */
  sold: Json
  schema: Schema
  /** Dollars each month as things are. */
  monthly: number
  wantedWith: (typed: TypedOverrides) => Wanted
}

/**
 * The form is reloaded after a conflicting change if nothing was typed. Typed values are applied to the current
 * overrides, because overrides have no revision.
 */
const useOverrides = (current: JsonObject) => {
  const [base, setBase] = useState(current)
  const [seen, setSeen] = useState(current)
  // The overrides may have changed since the form was opened.
  const latest = useRef(current)
  const form: RecordForm = useForm<JsonObject>({ initialValues: valuesFor(current, groups) })
  const fill = (overrides: JsonObject) => {
    setBase(overrides)
    form.setInitialValues(valuesFor(overrides, groups))
    form.reset()
  }
  useEffect(() => {
    latest.current = current
    if (JSON.stringify(current) === JSON.stringify(seen)) return
    setSeen(current)
    if (!form.isDirty()) fill(current)
  })
  return {
    form,
    typed: (values: JsonObject): TypedOverrides => {
      const changes = withoutIdle(changesBetween(recordOf(base), recordOf(values)))
      return { changes, whole: withoutIdle(withChanges(current, changes)) }
    },
    /**
     * The next changes are compared with the saved overrides and those of others, before they are read again.
     */
    saved: ({ changes }: TypedOverrides) => fill(withoutIdle(withChanges(latest.current, changes))),
  }
}

/** Price overrides of plans, with the resulting charges before they are saved. */
export const OverridesForm = ({ current, sold, schema, monthly, wantedWith }: OverridesProps) => {
  const { t } = useTranslation()
  const [asked, setAsked] = useState<TypedOverrides>()
  const { form, typed, saved } = useOverrides(current)
  const prices = form.getInputProps('plan')
  return (
    <form onSubmit={form.onSubmit((values) => setAsked(typed(values)))} noValidate>
      <Stack gap="xl">
        <Stack gap="sm" component="section" aria-label={t('money.prices')} maw="60rem">
          <Title order={2} size="h4">
            {t('money.prices')}
          </Title>
          <PriceList value={prices.value} sold={sold} schema={schema} onChange={prices.onChange} />
        </Stack>
        <Fields form={form} schema={schema} groups={groups} />
        <Group className="form-actions">
          <Button type="submit" disabled={!form.isDirty()}>
            {t('money.quote')}
          </Button>
          <Button variant="default" disabled={!form.isDirty()} onClick={() => form.reset()}>
            {t('discard')}
          </Button>
        </Group>
      </Stack>
      {asked && (
        <QuoteDialog
          wanted={wantedWith(asked)}
          monthly={monthly}
          onDone={() => {
            setAsked(undefined)
            saved(asked)
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </form>
  )
}
