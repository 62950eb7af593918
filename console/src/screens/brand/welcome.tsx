import { CrosspointError, replaceWhitelabelWelcome } from '@crosspoint/client'
import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'
import { HtmlFrame } from '../../parts/html-frame.tsx'
import { Loading } from '../../parts/screen.tsx'

const Editor = ({ kept }: { kept: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [text, setText] = useState(kept)
  const saving = useChange({
    touches: ['whitelabel_file'],
    run: () =>
      replaceWhitelabelWelcome({
        ...api,
        path: { account_id: accountId },
        body: new Blob([text], { type: 'text/html' }),
      }),
    done: () => tellDone(t('saved')),
  })
  return (
    <Stack>
      <Text size="sm">{t('brand.welcomeText')}</Text>
      <Textarea
        label={t('brand.welcomeHtml')}
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
        autosize
        minRows={8}
        maxRows={24}
        dir="auto"
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <Group>
        <Button loading={saving.isPending} disabled={text === kept} onClick={() => saving.mutate(undefined)}>
          {t('save')}
        </Button>
      </Group>
      <Text size="sm" fw={600}>
        {t('brand.preview')}
      </Text>
      <HtmlFrame html={text} title={t('brand.welcomePreview')} />
    </Stack>
  )
}

/** What a visitor reads before signing in. */
export const Welcome = () => {
  const { accountId } = usePlace()
  const found = useAnswer(['whitelabel_file', accountId, 'welcome'], async (signal) => {
    try {
      const path = `/v2/accounts/${accountId}/whitelabel/welcome`
      return await (await crosspoint.open({ path, accept: 'text/html', signal })).text()
    } catch (error) {
      if (error instanceof CrosspointError && error.status === 404) return ''
      throw error
    }
  })
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (found.data === undefined) return <Loading />
  return <Editor key={found.data} kept={found.data} />
}
