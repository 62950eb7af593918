import { CrosspointError } from '@crosspoint/client'
import { Button, FileInput, Group } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { showBytes } from '../lib/amounts.ts'
import { useChange } from '../lib/answers.ts'
import { tellDone } from '../lib/toasts.tsx'

/** The address of a picture that this page holds, as long as it is shown. */
export const useBlobUrl = (blob: Blob | null | undefined) => {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return setUrl(undefined)
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}

interface Bounds {
  types: readonly string[]
  /** The message for files of another type. */
  wrongType: string
  /** The maximum size; larger files are not sent. */
  largestBytes: number
}

const useProblemOf = (file: File | null, { types, wrongType, largestBytes }: Bounds) => {
  const { t } = useTranslation()
  if (!file) return undefined
  if (!types.includes(file.type)) return wrongType
  if (file.size <= largestBytes) return undefined
  return t('image.tooLarge', { size: showBytes(file.size), most: showBytes(largestBytes) })
}

const messageOf = (error: unknown) =>
  error instanceof CrosspointError ? (error.problems[0]?.message ?? error.message) : undefined

interface ImageFileProps extends Bounds {
  label: string
  description: string
  /** The label of the save button. */
  save: string
  touches: readonly string[]
  replace: (file: File) => Promise<unknown>
  preview: (url: string) => ReactNode
}

/** Lets the user choose an image, previews it before it is saved, and shows errors next to the file. */
export const ImageFile = ({
  label,
  description,
  save,
  touches,
  replace,
  preview,
  ...bounds
}: ImageFileProps) => {
  const { t } = useTranslation()
  const [file, setFile] = useState<File | null>(null)
  const problem = useProblemOf(file, bounds)
  const url = useBlobUrl(problem ? undefined : file)
  const saving = useChange({
    touches,
    run: replace,
    done: () => {
      setFile(null)
      tellDone(t('saved'))
    },
    // Shown at the file.
    failed: (error) => messageOf(error) !== undefined,
  })
  const choose = (chosen: File | null) => {
    saving.reset()
    setFile(chosen)
  }
  return (
    <>
      <FileInput
        label={label}
        description={description}
        accept={bounds.types.join(',')}
        value={file}
        onChange={choose}
        error={problem ?? messageOf(saving.error)}
        clearable
        clearButtonProps={{ 'aria-label': t('image.takeNone') }}
        maw="30rem"
      />
      {url && preview(url)}
      <Group>
        <Button
          disabled={!file || problem !== undefined}
          loading={saving.isPending}
          onClick={() => file && saving.mutate(file)}
        >
          {save}
        </Button>
      </Group>
    </>
  )
}
