import { Button, Group, Select, Stack, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useNumbersChange } from './changes.ts'
import { type NumberResult, OutcomeDialog } from './outcome.tsx'
import { RightsNote, useCarriers } from './rights.tsx'

const numbersIn = (text: string) => [
  ...new Set(
    text
      .split(/[\n,;]+/)
      .map((line) => line.replace(/[\s().-]/g, ''))
      .filter((line) => line !== ''),
  ),
]

const AddForm = ({ states }: { states: readonly string[] }) => {
  const { t } = useTranslation()
  const to = useTo()
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const [state, setState] = useState(states.includes('in_service') ? 'in_service' : (states[0] ?? 'port_in'))
  const [results, setResults] = useState<readonly NumberResult[]>()
  const adding = useNumbersChange(setResults)
  const numbers = numbersIn(text)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (numbers.length > 0) adding.mutate({ wish: { to: 'create', state }, numbers })
      }}
    >
      <Stack maw="40rem">
        <Textarea
          label={t('numbers.toAdd')}
          description={t('numbers.toAddHelp')}
          autosize
          minRows={4}
          maxRows={16}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Select
          label={t('numbers.state')}
          data={states.map((value) => ({ value, label: t(`numbers.states.${value}`) }))}
          value={state}
          onChange={(value) => value !== null && setState(value)}
          allowDeselect={false}
        />
        <Group>
          <Button type="submit" loading={adding.isPending} disabled={numbers.length === 0}>
            {t('numbers.addCount', { count: numbers.length })}
          </Button>
        </Group>
      </Stack>
      <OutcomeDialog
        results={results}
        onClose={() => {
          const isDone = results?.every(({ refusal }) => refusal === undefined)
          setResults(undefined)
          if (isDone) go(to('numbers'))
        }}
      />
    </form>
  )
}

/** Numbers that an account has already: they are entered in the inventory, where that is allowed, or ported in. */
export const NewNumbers = () => {
  const { t } = useTranslation()
  const { carriers, error, again } = useCarriers()
  return (
    <Screen title={t('numbers.add')}>
      <RightsNote />
      {error ? <FailureNote error={error} again={again} /> : null}
      {!carriers && !error && <Loading />}
      {carriers && <AddForm states={[...new Set([...carriers.usable_creation_states, 'port_in'])]} />}
    </Screen>
  )
}
