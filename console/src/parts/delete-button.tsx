import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useChange } from '../lib/answers.ts'
import { tellDone } from '../lib/toasts.tsx'
import { Confirm } from './confirm.tsx'

/** Deletes a record after a question, and goes where it is missed. */
export const DeleteButton = ({
  label,
  title,
  text,
  touches,
  run,
  to,
  children,
}: {
  /** "Delete" without it. */
  label?: string
  title: string
  text: string
  /** Kinds of records that are out of date afterwards. */
  touches: readonly string[]
  run: () => Promise<unknown>
  to: string
  /** Further options of the dialog. */
  children?: ReactNode
}) => {
  const { t } = useTranslation()
  const [, go] = useLocation()
  const action = label ?? t('delete')
  const [opened, { open, close }] = useDisclosure(false)
  const deleting = useChange({
    touches,
    run,
    done: () => {
      tellDone(t('deleted'))
      go(to)
    },
  })
  return (
    <>
      <Button variant="default" onClick={open}>
        {action}
      </Button>
      <Confirm
        opened={opened}
        title={title}
        text={text}
        action={action}
        busy={deleting.isPending}
        onConfirm={() => deleting.mutate(undefined)}
        onClose={close}
      >
        {children}
      </Confirm>
    </>
  )
}
