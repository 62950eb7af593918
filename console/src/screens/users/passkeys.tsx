import { deleteUserPasskey, listUserPasskeys } from '@crosspoint/client'
import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { RowList } from '../../parts/row-list.tsx'
import type { SignInSubject } from './sign-in-tab.tsx'

interface PasskeyRow {
  id: string
  name: string
  rp_id: string
  backed_up: boolean
  last_used?: number
}

/** The passkeys of a user: whoever has lost one has it taken away here. */
export const Passkeys = ({ user: { userId, name: userName } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const path = { account_id: accountId, user_id: userId }
  const [chosen, setChosen] = useState<PasskeyRow>()
  const removing = useChange({
    touches: ['passkey'],
    run: (passkey_id: string) => deleteUserPasskey({ ...api, path: { ...path, passkey_id } }),
    done: () => {
      setChosen(undefined)
      tellDone(t('deleted'))
    },
  })
  return (
    <>
      <RowList<PasskeyRow>
        label={t('users.passkeys')}
        queryKey={['passkey', accountId, userId]}
        read={(start_key, signal) => listUserPasskeys({ ...api, path, query: { start_key }, signal })}
        columns={[
          { id: 'name', title: t('users.passkeyName'), show: ({ name }) => <bdi>{name}</bdi> },
          { id: 'domain', title: t('users.passkeyDomain'), isExtra: true, show: ({ rp_id }) => rp_id },
          {
            id: 'used',
            title: t('users.lastUsed'),
            isExtra: true,
            show: ({ last_used }) =>
              last_used === undefined ? t('users.neverUsed') : showTime(last_used, timezone),
          },
          {
            id: 'remove',
            title: t('users.change'),
            show: (row) => (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => setChosen(row)}
                aria-label={t('users.removePasskeyOf', { name: row.name })}
              >
                {t('users.removePasskey')}
              </Button>
            ),
          },
        ]}
        rowKey={({ id }) => id}
        empty={<Text size="sm">{t('users.noPasskeys')}</Text>}
      />
      <Confirm
        opened={chosen !== undefined}
        title={t('users.removePasskeyTitle')}
        text={t('users.removePasskeyText', { name: chosen?.name, user: userName })}
        action={t('users.removePasskey')}
        busy={removing.isPending}
        onConfirm={() => chosen && removing.mutate(chosen.id)}
        onClose={() => setChosen(undefined)}
      />
    </>
  )
}
