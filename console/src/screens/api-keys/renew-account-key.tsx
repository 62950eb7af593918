import { renewApiKey } from '@crosspoint/client'
import { Button, Checkbox } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { ShownKey } from './shown-key.tsx'

/** Renews the unlimited key of the account: asks whether sessions end with the old key, and then shows the new one. */
export const RenewAccountKey = () => {
  const { t } = useTranslation()
  const { accountId, name } = usePlace()
  const [opened, { open, close }] = useDisclosure(false)
  const [endsSessions, setEndsSessions] = useState(true)
  const renewing = useChange({
    touches: [],
    run: () =>
      renewApiKey({
        ...api,
        path: { account_id: accountId },
        query: endsSessions ? { end_sessions: true } : {},
      }),
  })
  const end = () => {
    renewing.reset()
    setEndsSessions(true)
    close()
  }
  const apiKey = renewing.data?.data.api_key
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('apiKeys.account.renew')}
      </Button>
      {apiKey === undefined ? (
        <Confirm
          opened={opened}
          title={t('apiKeys.account.renew')}
          text={t('apiKeys.account.text', { name })}
          action={t('apiKeys.account.renew')}
          busy={renewing.isPending}
          onConfirm={() => renewing.mutate(undefined)}
          onClose={end}
        >
          <Checkbox
            label={t('apiKeys.account.endSessions')}
            description={t('apiKeys.account.endSessionsHelp')}
            checked={endsSessions}
            onChange={({ currentTarget }) => setEndsSessions(currentTarget.checked)}
          />
        </Confirm>
      ) : (
        <ShownKey
          title={t('apiKeys.account.renewed')}
          text={t('apiKeys.account.renewedText')}
          apiKey={apiKey}
          onClose={end}
        />
      )}
    </>
  )
}
