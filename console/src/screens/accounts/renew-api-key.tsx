import { type AccountRecord, renewApiKey } from '@crosspoint/client'
import { Button, Checkbox, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { Confirm } from '../../parts/confirm.tsx'

interface Asked {
  account: AccountRecord
  opened: boolean
  onClose: () => void
}

const NewKey = ({ apiKey, onClose }: { apiKey: string; onClose: () => void }) => {
  const { t } = useTranslation()
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('accounts.apiKey.renewed')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text>{t('accounts.apiKey.renewedText')}</Text>
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {apiKey}
        </Code>
        <Group justify="flex-end">
          <CopyButton value={apiKey}>
            {({ copied, copy }) => (
              <Button onClick={copy} data-autofocus>
                {copied ? t('copied') : t('copy')}
              </Button>
            )}
          </CopyButton>
          <Button variant="default" onClick={onClose}>
            {t('close')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** Asks whether sessions end with the old key, and then shows the new one. */
export const RenewApiKey = ({ account, opened, onClose }: Asked) => {
  const { t } = useTranslation()
  const [endsSessions, setEndsSessions] = useState(true)
  const renewing = useChange({
    touches: [],
    run: () =>
      renewApiKey({
        ...api,
        path: { account_id: account.id },
        query: endsSessions ? { end_sessions: true } : {},
      }),
  })
  const close = () => {
    renewing.reset()
    setEndsSessions(true)
    onClose()
  }
  const apiKey = renewing.data?.data.api_key
  if (apiKey !== undefined) return <NewKey apiKey={apiKey} onClose={close} />
  return (
    <Confirm
      opened={opened}
      title={t('accounts.apiKey.renew')}
      text={t('accounts.apiKey.text', { name: account.name })}
      action={t('accounts.apiKey.renew')}
      busy={renewing.isPending}
      onConfirm={() => renewing.mutate(undefined)}
      onClose={close}
    >
      <Checkbox
        label={t('accounts.apiKey.endSessions')}
        description={t('accounts.apiKey.endSessionsHelp')}
        checked={endsSessions}
        onChange={({ currentTarget }) => setEndsSessions(currentTarget.checked)}
      />
    </Confirm>
  )
}
