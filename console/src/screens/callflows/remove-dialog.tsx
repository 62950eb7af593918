import { Checkbox, List } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Confirm } from '../../parts/confirm.tsx'
import { useEditor } from './editor.ts'
import { isBelow, nextKey, type Path, removeAt, stepAt } from './flow.ts'
import { useStepNames } from './move-dialog.tsx'

/** Names the steps that go with a step before it is removed. */
export const RemoveDialog = ({ path }: { path: Path }) => {
  const { t } = useTranslation()
  const { flow, change, close } = useEditor()
  const [keepsNext, setKeepsNext] = useState(false)
  const next = [...path, nextKey]
  const hasNext = stepAt(flow, next) !== undefined
  const removed = useStepNames().filter(
    (step) => isBelow(step.path, path) && !(keepsNext && isBelow(step.path, next)),
  )
  const focus = keepsNext ? path : path.slice(0, -1)
  return (
    <Confirm
      opened
      title={t('callflows.removeTitle')}
      text={t('callflows.removeText', { count: removed.length })}
      action={t('callflows.removeSteps', { count: removed.length })}
      onConfirm={() => change(removeAt(flow, path, keepsNext), focus)}
      onClose={() => close(path)}
    >
      <List size="sm">
        {removed.map(({ name }) => (
          <List.Item key={name}>{name}</List.Item>
        ))}
      </List>
      {hasNext && (
        <Checkbox
          label={t('callflows.keepNext')}
          checked={keepsNext}
          onChange={({ currentTarget: { checked } }) => setKeepsNext(checked)}
        />
      )}
    </Confirm>
  )
}
