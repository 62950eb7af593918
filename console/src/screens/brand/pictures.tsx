import { CrosspointError, replaceWhitelabelIcon, replaceWhitelabelLogo } from '@crosspoint/client'
import { Group, Stack, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ImageFile, useBlobUrl } from '../../parts/image-file.tsx'

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

// The maximum size; larger files are not sent.
const largestBytes = 8_000_000

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

const Picture = ({ kind }: { kind: Kind }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const kept = useKept(kind)
  const keptUrl = useBlobUrl(kept.data)
  return (
    <Stack component="section" gap="sm" aria-label={t(`brand.${kind}`)}>
      <Title order={2} size="h4">
        {t(`brand.${kind}`)}
      </Title>
      {kept.error && <FailureNote error={kept.error} again={kept.refetch} />}
      {kept.data === null && <Text size="sm">{t(`brand.${kind}None`)}</Text>}
      {keptUrl && <Shown kind={kind} url={keptUrl} label={t(`brand.${kind}Kept`)} />}
      <ImageFile
        label={t(`brand.${kind}Choose`)}
        description={t(`brand.${kind}Type`)}
        types={pictures[kind].types}
        wrongType={t(`brand.${kind}Type`)}
        largestBytes={largestBytes}
        save={t(`brand.${kind}Save`)}
        touches={['whitelabel_file']}
        replace={(body) =>
          pictures[kind].replace({
            ...api,
            path: { account_id: accountId },
            body,
            headers: { 'content-type': body.type },
          })
        }
        preview={(url) => <Shown kind={kind} url={url} label={t('image.preview')} />}
      />
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
