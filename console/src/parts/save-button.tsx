import { Button, type ButtonProps, Group } from '@mantine/core'
import { Download } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { showBytes } from '../lib/amounts.ts'
import { saveFile } from '../lib/downloads.ts'
import { tellFailure } from '../lib/failures.tsx'
import { tellDone } from '../lib/toasts.tsx'
import { WorkProgress } from './progress.tsx'

interface SaveButtonProps extends ButtonProps {
  /** The file name. */
  name: string
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>
}

/** Saves a file of any size, shows the progress, and can be canceled. */
export const SaveButton = ({ name, open, children, ...rest }: SaveButtonProps) => {
  const { t } = useTranslation()
  const ending = useRef<AbortController>(undefined)
  const [bytes, setBytes] = useState<number>()
  useEffect(() => () => ending.current?.abort(), [])
  const save = async () => {
    ending.current = new AbortController()
    setBytes(0)
    try {
      const isSaved = await saveFile(name, open, { signal: ending.current.signal, onBytes: setBytes })
      if (isSaved) tellDone(t('saveFile.saved', { name }))
    } catch (error) {
      tellFailure(error)
    } finally {
      setBytes(undefined)
    }
  }
  if (bytes === undefined) {
    return (
      <Button
        variant="default"
        leftSection={<Download size={16} aria-hidden />}
        {...rest}
        onClick={() => void save()}
      >
        {children}
      </Button>
    )
  }
  return (
    <Group gap="xs">
      <WorkProgress
        label={name}
        done={bytes}
        total={undefined}
        words={[t('saveFile.coming', { size: showBytes(bytes) })]}
        isRunning
        amount={showBytes}
      />
      <Button variant="default" {...rest} onClick={() => ending.current?.abort()}>
        {t('cancel')}
      </Button>
    </Group>
  )
}
