import { deleteUserPasskey, listUserPasskeys, updateUserPasskey } from '@crosspoint/client'
import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { isActing } from '../../lib/acting.ts'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { problemsOf } from '../../lib/problems.ts'
import { showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { NewPasskey } from './new-passkey.tsx'
import { PasskeyNameDialog } from './passkey-name.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

interface PasskeyRow {
  id: string
  name: string
  rp_id: string
  backed_up: boolean
  last_used?: number
}

interface Chosen {
  passkey: PasskeyRow
  onClose: () => void
}

const Rename = ({ user: { userId }, passkey, onClose }: Chosen & { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId, user_id: userId, passkey_id: passkey.id }
  const [problem, setProblem] = useState<string>()
  const renaming = useChange({
    touches: ['passkey'],
    run: (name: string) => updateUserPasskey({ ...api, path, body: { data: { name } } }),
    done: () => {
      onClose()
      tellDone(t('saved'))
    },
    failed: (error) => {
      const { name } = problemsOf(error)
      setProblem(name)
      return name !== undefined
    },
  })
  return (
    <PasskeyNameDialog
      title={t('users.renamePasskeyTitle', { name: passkey.name })}
      action={t('save')}
      initial={passkey.name}
      busy={renaming.isPending}
      problem={problem}
      onName={(name) => renaming.mutate(name)}
      onClose={onClose}
    />
  )
}

const Remove = ({ user, passkey, onClose }: Chosen & { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId, user_id: user.userId, passkey_id: passkey.id }
  const removing = useChange({
    touches: ['passkey'],
    run: () => deleteUserPasskey({ ...api, path }),
    done: () => {
      onClose()
      tellDone(t('deleted'))
    },
  })
  return (
    <Confirm
      opened
      title={t('users.removePasskeyTitle')}
      text={t('users.removePasskeyText', { name: passkey.name, user: user.name })}
      action={t('users.removePasskey')}
      busy={removing.isPending}
      onConfirm={() => removing.mutate(undefined)}
      onClose={onClose}
    />
  )
}

type Doing = 'rename' | 'remove'

const useColumns = (choose: (doing: Doing, passkey: PasskeyRow) => void): readonly Column<PasskeyRow>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return [
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
      id: 'change',
      title: t('users.change'),
      show: (row) => (
        <Group gap="xs" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => choose('rename', row)}
            aria-label={t('users.renamePasskeyOf', { name: row.name })}
          >
            {t('users.renamePasskey')}
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => choose('remove', row)}
            aria-label={t('users.removePasskeyOf', { name: row.name })}
          >
            {t('users.removePasskey')}
          </Button>
        </Group>
      ),
    },
  ]
}

/** The passkeys of a user: made by the user alone, called and taken away by an admin as well. */
export const Passkeys = ({ user }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId, isOwn } = usePlace()
  const { userId } = user
  const path = { account_id: accountId, user_id: userId }
  const [chosen, setChosen] = useState<{ doing: Doing; passkey: PasskeyRow }>()
  const columns = useColumns((doing, passkey) => setChosen({ doing, passkey }))
  const isMyself = isOwn && crosspoint.session()?.userId === userId && !isActing()
  const Dialog = chosen?.doing === 'rename' ? Rename : Remove
  return (
    <>
      <RowList<PasskeyRow>
        label={t('users.passkeys')}
        queryKey={['passkey', accountId, userId]}
        read={(start_key, signal) => listUserPasskeys({ ...api, path, query: { start_key }, signal })}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Text size="sm">{t(isMyself ? 'users.noOwnPasskeys' : 'users.noPasskeys')}</Text>}
      />
      {isMyself && <NewPasskey userId={userId} />}
      {chosen && <Dialog user={user} passkey={chosen.passkey} onClose={() => setChosen(undefined)} />}
    </>
  )
}
