import { Alert, Button, Stack, Text } from '@mantine/core'
import { Plus, ServerOff } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject } from '../../lib/json.ts'
import type { OwnField } from '../../parts/fields.tsx'
import { Loading } from '../../parts/screen.tsx'
import { type Editor, EditorProvider, type Question, useServedModules } from './editor.ts'
import { moduleOf, nameIn, type Path, placesIn, type Step, stepAt } from './flow.ts'
import { MoveDialog } from './move-dialog.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { StepDialog } from './step-dialog.tsx'
import { Chain, stepMark } from './tree.tsx'

const Asking = ({ question }: { question: Question }) => {
  switch (question.ask) {
    case 'new':
      return <StepDialog parent={question.parent} branch={question.key} isNew />
    case 'settings': {
      const { path } = question
      const isFirst = path.length === 0
      return (
        <StepDialog parent={isFirst ? undefined : path.slice(0, -1)} branch={path.at(-1)} isNew={false} />
      )
    }
    case 'move':
      return <MoveDialog path={question.path} />
    case 'remove':
      return <RemoveDialog path={question.path} />
  }
}

const MediaServerNote = ({ editor: { flow, served } }: { editor: Editor }) => {
  const { t } = useTranslation()
  const count = placesIn(flow).filter(({ step }) => !served.has(moduleOf(step))).length
  if (count === 0) return null
  return (
    <Alert
      maw="40rem"
      color="orange"
      icon={<ServerOff aria-hidden />}
      title={t('callflows.mediaServerTitle', { count })}
    >
      {t('callflows.mediaServerText')}
    </Alert>
  )
}

const isStillThere = (question: Question, flow: Step | undefined) => {
  const path = question.ask === 'new' ? question.parent : question.path
  return path === undefined || stepAt(flow, path) !== undefined
}

/** The steps of a callflow as a tree. */
export const FlowField: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { served, error, again } = useServedModules()
  const [question, setQuestion] = useState<Question>()
  const [focus, setFocus] = useState<Path>()
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!focus) return
    const mark = `[data-step="${CSS.escape(stepMark(focus))}"]`
    const element = frame.current?.querySelector<HTMLElement>(mark) ?? frame.current?.querySelector('button')
    element?.focus()
    setFocus(undefined)
  }, [focus])
  const { value, onChange } = form.getInputProps(path)
  const { id, metadata } = form.getValues()
  if (!served) return error ? <FailureNote error={error} again={again} /> : <Loading />
  const close = (at: Path) => {
    setQuestion(undefined)
    setFocus(at)
  }
  const editor: Editor = {
    flow: isObject(value) ? value : undefined,
    callflowId: typeof id === 'string' ? id : undefined,
    served,
    change: (flow, at) => {
      onChange(flow)
      close(at)
    },
    ask: setQuestion,
    close,
    nameOf: (id) => nameIn(metadata, id),
  }
  const problems = Object.entries(form.errors).filter(([key]) => key === path || key.startsWith(`${path}.`))
  return (
    <EditorProvider value={editor}>
      <Stack ref={frame} gap="sm" data-path={path} tabIndex={-1}>
        {problems.map(([key, problem]) => (
          <Text key={key} size="sm" c="var(--mantine-color-error)">
            {key}: {problem}
          </Text>
        ))}
        <MediaServerNote editor={editor} />
        {editor.flow ? (
          <div className="flow">
            <Chain start={[]} />
          </div>
        ) : (
          <Stack align="flex-start" gap="xs">
            <Text c="dimmed">{t('callflows.noSteps')}</Text>
            <Button
              variant="default"
              leftSection={<Plus size={16} aria-hidden />}
              onClick={() => setQuestion({ ask: 'new', key: undefined })}
            >
              {t('callflows.addFirst')}
            </Button>
          </Stack>
        )}
        {/* A newer flow from the server restarts the dialog: what was typed may be about another step now. */}
        {question && isStillThere(question, editor.flow) && (
          <Asking key={JSON.stringify(editor.flow)} question={question} />
        )}
      </Stack>
    </EditorProvider>
  )
}
