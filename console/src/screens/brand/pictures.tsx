import { CrosspointError, replaceWhitelabelIcon, replaceWhitelabelLogo } from '@crosspoint/client'
import { Button, FileInput, Group, Stack, Text, Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showBytes } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'

const images = ['image/png', 'image/jpeg', 'image/gif']

/** What is taken as each; the server looks into the file itself. */
const pictures = {
  logo: { types: images, replace: replaceWhitelabelLogo, height: 64 },
  icon: {
    types: [...images, 'image/x-icon', 'image/vnd.microsoft.icon'],
    replace: replaceWhitelabelIcon,
    height: 32,
  },
} as const

type Kind = keyof typeof pictures

// What the server takes; a larger one is not sent at all.
const largestBytes = 8_000_000

/** The address of a picture that this page holds, as long as it is shown. */
const useBlobUrl = (blob: Blob | null | undefined) => {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return setUrl(undefined)
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}

const useKept = (kind: Kind) => {
  const { accountId } = usePlace()
  return useAnswer(['whitelabel_file', accountId, kind], async (signal) => {
    try {
      const path = `/v2/accounts/${accountId}/whitelabel/${kind}`
      return await (await crosspoint.open({ path, accept: pictures[kind].types.join(', '), signal })).blob()
    } catch (error) {
      if (error instanceof CrosspointError && error.status === 404) return null
      throw error
    }
  })
}

const Shown = ({ kind, url, label }: { kind: Kind; url: string; label: string }) => (
  <Group gap={0} grow maw="30rem">
    {['#fff', 'var(--mantine-color-dark-7)'].map((ground, at) => (
      <div key={ground} style={{ background: ground, padding: 12, minWidth: 0 }}>
        <img
          src={url}
          alt={at === 0 ? label : ''}
          style={{ maxHeight: pictures[kind].height, maxWidth: '100%', objectFit: 'contain' }}
        />
      </div>
    ))}
  </Group>
)

const useProblemOf = (kind: Kind, file: File | null) => {
  const { t } = useTranslation()
  if (!file) return undefined
  if (!pictures[kind].types.some((type) => type === file.type)) return t(`brand.${kind}Type`)
  if (file.size <= largestBytes) return undefined
  return t('brand.tooLarge', { size: showBytes(file.size), most: showBytes(largestBytes) })
}

const messageOf = (error: unknown) =>
  error instanceof CrosspointError ? (error.problems[0]?.message ?? error.message) : undefined

const Picture = ({ kind }: { kind: Kind }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [file, setFile] = useState<File | null>(null)
  const kept = useKept(kind)
  const problem = useProblemOf(kind, file)
  const preview = useBlobUrl(problem ? undefined : file)
  const keptUrl = useBlobUrl(kept.data)
  const saving = useChange({
    touches: ['whitelabel_file'],
    run: (body: File) =>
      pictures[kind].replace({
        ...api,
        path: { account_id: accountId },
        body,
        headers: { 'content-type': body.type },
      }),
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
    <Stack component="section" gap="sm" aria-label={t(`brand.${kind}`)}>
      <Title order={2} size="h4">
        {t(`brand.${kind}`)}
      </Title>
      {kept.error && <FailureNote error={kept.error} again={kept.refetch} />}
      {kept.data === null && <Text size="sm">{t(`brand.${kind}None`)}</Text>}
      {keptUrl && <Shown kind={kind} url={keptUrl} label={t(`brand.${kind}Kept`)} />}
      <FileInput
        label={t(`brand.${kind}Choose`)}
        description={t(`brand.${kind}Type`)}
        accept={pictures[kind].types.join(',')}
        value={file}
        onChange={choose}
        error={problem ?? messageOf(saving.error)}
        clearable
        clearButtonProps={{ 'aria-label': t('brand.takeNone') }}
        maw="30rem"
      />
      {preview && <Shown kind={kind} url={preview} label={t('brand.preview')} />}
      <Group>
        <Button
          disabled={!file || problem !== undefined}
          loading={saving.isPending}
          onClick={() => file && saving.mutate(file)}
        >
          {t(`brand.${kind}Save`)}
        </Button>
      </Group>
    </Stack>
  )
}

/** The pictures that a visitor of the brand sees. */
export const Pictures = () => (
  <Stack gap="xl">
    <Picture kind="logo" />
    <Picture kind="icon" />
  </Stack>
)
