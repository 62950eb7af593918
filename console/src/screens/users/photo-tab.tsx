import { deleteUserPhoto, replaceUserPhoto } from '@crosspoint/client'
import { Avatar, Button, Group, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showBytes } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'
import { ImageFile, useBlobUrl } from '../../parts/image-file.tsx'

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

// The maximum size; larger files are not sent.
const largestBytes = 2_000_000

const ChoosePhoto = ({ path }: { path: { account_id: string; user_id: string } }) => {
  const { t } = useTranslation()
  return (
    <ImageFile
      label={t('users.choosePhoto')}
      description={t('users.photoHelp', { most: showBytes(largestBytes) })}
      types={imageTypes}
      wrongType={t('users.photoType')}
      largestBytes={largestBytes}
      save={t('users.savePhoto')}
      touches={['user']}
      replace={(body) => replaceUserPhoto({ ...api, path, body, headers: { 'content-type': body.type } })}
      preview={(url) => <Avatar src={url} alt={t('image.preview')} size={160} radius="sm" />}
    />
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
