import { CrosspointError, deleteUserPhoto, replaceUserPhoto } from '@crosspoint/client'
import { Avatar, Button, FileInput, Group, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showBytes } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

// What the server takes; a larger one is not sent at all.
const largestBytes = 2_000_000

/** The address of a picture that this page holds, as long as it is shown. */
const useBlobUrl = (blob: Blob | undefined) => {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return setUrl(undefined)
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}

const useProblemOf = (file: File | null) => {
  const { t } = useTranslation()
  if (!file) return undefined
  if (!imageTypes.includes(file.type)) return t('users.photoType')
  if (file.size <= largestBytes) return undefined
  return t('users.photoSize', { size: showBytes(file.size), most: showBytes(largestBytes) })
}

const messageOf = (error: unknown) =>
  error instanceof CrosspointError ? (error.problems[0]?.message ?? error.message) : undefined

const ChoosePhoto = ({ path }: { path: { account_id: string; user_id: string } }) => {
  const { t } = useTranslation()
  const [file, setFile] = useState<File | null>(null)
  const problem = useProblemOf(file)
  const preview = useBlobUrl(file && !problem ? file : undefined)
  const saving = useChange({
    touches: ['user'],
    run: (body: File) => replaceUserPhoto({ ...api, path, body, headers: { 'content-type': body.type } }),
    done: () => {
      setFile(null)
      tellDone(t('saved'))
    },
    // Shown at the file.
    failed: () => true,
  })
  const choose = (chosen: File | null) => {
    saving.reset()
    setFile(chosen)
  }
  return (
    <Stack>
      <FileInput
        label={t('users.choosePhoto')}
        description={t('users.photoHelp', { most: showBytes(largestBytes) })}
        accept={imageTypes.join(',')}
        value={file}
        onChange={choose}
        error={problem ?? messageOf(saving.error)}
        clearable
        clearButtonProps={{ 'aria-label': t('users.takeNone') }}
        maw="30rem"
      />
      {preview && <Avatar src={preview} alt={t('users.photoPreview')} size={160} radius="sm" />}
      <Group>
        <Button
          disabled={!file || problem !== undefined}
          loading={saving.isPending}
          onClick={() => file && saving.mutate(file)}
        >
          {t('users.savePhoto')}
        </Button>
      </Group>
    </Stack>
  )
}

const Shown = ({ path, name }: { path: { account_id: string; user_id: string }; name: string }) => {
  const { t } = useTranslation()
  const found = useAnswer(['user', path.account_id, path.user_id, 'photo'], async (signal) => {
    const address = `/v2/accounts/${path.account_id}/users/${path.user_id}/photo`
    return (await crosspoint.open({ path: address, accept: imageTypes.join(', '), signal })).blob()
  })
  const url = useBlobUrl(found.data)
  const returning = useChange({
    touches: ['user'],
    run: (body: Blob) => replaceUserPhoto({ ...api, path, body, headers: { 'content-type': body.type } }),
  })
  const removing = useChange({
    touches: ['user'],
    run: async () => {
      await deleteUserPhoto({ ...api, path })
      return found.data
    },
    done: (before) => tellDone(t('deleted'), before && (() => returning.mutate(before))),
  })
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  return (
    <Group align="end">
      <Avatar src={url} alt={t('users.photoOf', { name })} size={160} radius="sm" />
      <Button variant="default" loading={removing.isPending} onClick={() => removing.mutate(undefined)}>
        {t('users.removePhoto')}
      </Button>
    </Group>
  )
}

/** The photo of a user, and another one in its place. */
export const PhotoTab = ({ userId, name, has }: { userId: string; name: string; has: boolean }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId, user_id: userId }
  return (
    <Stack maw="60rem">
      {has ? <Shown path={path} name={name} /> : <Text>{t('users.noPhoto')}</Text>}
      <ChoosePhoto path={path} />
    </Stack>
  )
}
