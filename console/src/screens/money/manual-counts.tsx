import { updateServiceManual } from '@crosspoint/client'
import { Button, Group, NumberInput, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { numberIn } from '../../lib/amounts.ts'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { changesBetween, isObject, type Json, type JsonObject, withChanges } from '../../lib/json.ts'
import { problemsOf } from '../../lib/problems.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { AddItem, allItems } from './add-item.tsx'

interface Count {
  category: string
  item: string
  /** A text that is no number while it is typed. */
  count: number | string
}

const countsIn = (counts: JsonObject): readonly Count[] =>
  Object.entries(counts).flatMap(([category, items]) =>
    Object.entries(isObject(items) ? items : {}).map(([item, count]) => ({
      category,
      item,
      count: typeof count === 'number' ? count : '',
    })),
  )

/** Counts by category and item; null takes one away. */
type Changes = Record<string, Record<string, number | null>>

/** The changed quantities only: quantities that others set since the last read stay. */
const changesIn = (changed: JsonObject): Changes => {
  const changes: Changes = {}
  for (const [category, items] of Object.entries(changed))
    for (const [item, count] of Object.entries(isObject(items) ? items : {}))
      if (typeof count === 'number' || count === null)
        changes[category] = { ...changes[category], [item]: count }
  return changes
}

/** Unsaved changes over the current values: quantities that others set stay. */
const useEdits = (manual: JsonObject) => {
  const [edits, setEdits] = useState<JsonObject>({})
  const shown = withChanges(manual, edits)
  const changed = changesBetween(manual, shown)
  return {
    counts: countsIn(shown),
    changed,
    isChanged: Object.keys(changed).length > 0,
    put: (category: string, item: string, count: Json) => {
      const items = edits[category]
      setEdits({ ...edits, [category]: { ...(isObject(items) ? items : {}), [item]: count } })
    },
    forget: () => setEdits({}),
  }
}

/** Manual quantities that replace the counted ones. */
export const ManualCounts = ({ manual }: { manual: JsonObject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { counts, changed, isChanged, put, forget } = useEdits(manual)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const saving = useChange({
    touches: ['services'],
    run: (data: Changes) => updateServiceManual({ ...api, path: { account_id: accountId }, body: { data } }),
    done: () => {
      forget()
      tellDone(t('saved'))
    },
    failed: (error) => {
      const found = problemsOf(error)
      setProblems(found)
      return counts.some(({ category, item }) => `${category}.${item}` in found)
    },
  })
  const isWhole = counts.every(({ count }) => count !== '')
  return (
    <Stack gap="sm" component="section" aria-label={t('money.manual.title')}>
      <Title order={2} size="h4">
        {t('money.manual.title')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('money.manual.text')}
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setProblems({})
          saving.mutate(changesIn(changed))
        }}
        noValidate
      >
        <Stack gap="sm" align="flex-start">
          {counts.map(({ category, item, count }) => {
            const name = `${category} / ${item}`
            return (
              <Group key={name} align="end" gap="sm">
                <NumberInput
                  label={name}
                  allowDecimal={false}
                  allowNegative={false}
                  hideControls
                  w="18rem"
                  value={count}
                  onChange={(given) => put(category, item, numberIn(given) ?? '')}
                  error={problems[`${category}.${item}`]}
                />
                <Button
                  variant="default"
                  aria-label={t('money.manual.removeNamed', { name })}
                  onClick={() => put(category, item, null)}
                >
                  {t('money.manual.remove')}
                </Button>
              </Group>
            )
          })}
          <Group>
            <Button type="submit" loading={saving.isPending} disabled={!isChanged || !isWhole}>
              {t('save')}
            </Button>
            <Button variant="default" disabled={!isChanged} onClick={forget}>
              {t('discard')}
            </Button>
          </Group>
        </Stack>
      </form>
      <AddItem
        action={t('money.manual.add')}
        isOffered={(item) => item !== allItems}
        onAdd={(category, item) => {
          const isThere = counts.some((one) => one.category === category && one.item === item)
          if (!isThere) put(category, item, '')
        }}
      />
    </Stack>
  )
}
