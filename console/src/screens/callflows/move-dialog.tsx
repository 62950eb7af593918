import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEditor } from './editor.ts'
import { dataOf, isBelow, moduleOf, moveTo, nextKey, type Path, placesIn, type Step } from './flow.ts'
import { moduleName } from './modules.ts'

/** Steps with their numbers and names, for dialogs. */
export const useStepNames = () => {
  const { flow, nameOf } = useEditor()
  const nameOfStep = (step: Step) => {
    const { id } = dataOf(step)
    const record = typeof id === 'string' ? nameOf(id) : undefined
    return record === undefined ? moduleName(moduleOf(step)) : `${moduleName(moduleOf(step))}: ${record}`
  }
  return placesIn(flow).map(({ path, step }, index) => ({
    path,
    name: `${index + 1}. ${nameOfStep(step)}`,
  }))
}

/** Moves a step to a branch of another step. */
export const MoveDialog = ({ path }: { path: Path }) => {
  const { t } = useTranslation()
  const { flow, change, close } = useEditor()
  const steps = useStepNames()
  const targets = steps.filter((target) => !isBelow(target.path, path))
  const [chosen, setChosen] = useState<string | null>(null)
  const [key, setKey] = useState(nextKey)
  const target = targets.find(({ name }) => name === chosen)
  const move = (event: FormEvent) => {
    event.preventDefault()
    // The form of the callflow is around this one.
    event.stopPropagation()
    if (!target) return
    const place = [...target.path, key.trim() || nextKey]
    change(moveTo(flow, path, place), place)
  }
  return (
    <Modal
      opened
      returnFocus={false}
      onClose={() => close(path)}
      title={t('callflows.moveTitle')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form onSubmit={move} noValidate>
        <Stack>
          <Text size="sm">{t('callflows.moveText')}</Text>
          <Select
            label={t('callflows.moveBelow')}
            value={chosen}
            onChange={setChosen}
            data={targets.map(({ name }) => name)}
          />
          <TextInput
            label={t('callflows.branchKey')}
            description={t('callflows.branchKeyHelp')}
            value={key}
            onChange={({ currentTarget: { value } }) => setKey(value)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(path)}>
              {t('cancel')}
            </Button>
            <Button type="submit" disabled={!target}>
              {t('callflows.moveStep')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
