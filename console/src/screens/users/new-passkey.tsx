import { createUserPasskey, getUserPasskeyOptions } from '@crosspoint/client'
import { Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { hasPasskeys, makePasskey } from '../../lib/passkeys.ts'
import { problemsOf } from '../../lib/problems.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { PasskeyNameDialog } from './passkey-name.tsx'

/** Why a passkey was not made, in words. */
const useProblem = () => {
  const { t } = useTranslation()
  const [problem, setProblem] = useState<string>()
  const of = (error: unknown) => {
    if (!(error instanceof DOMException)) return Object.values(problemsOf(error))[0]
    if (error.name === 'NotAllowedError') return t('users.passkeyNotAgreed')
    return error.name === 'InvalidStateError' ? t('users.passkeyKnown') : undefined
  }
  return {
    problem,
    forget: () => setProblem(undefined),
    /** Answers with whether there are words for it. */
    take: (error: unknown) => {
      const told = of(error)
      setProblem(told)
      return told !== undefined
    },
  }
}

/** Registers a passkey of the signed-in user on a device of this browser. */
export const NewPasskey = ({ userId }: { userId: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId, user_id: userId }
  const [opened, { open, close }] = useDisclosure(false)
  const { problem, take, forget } = useProblem()
  const registering = useChange({
    touches: ['passkey'],
    run: async (name: string) => {
      const { data } = await getUserPasskeyOptions({ ...api, path })
      const credential = await makePasskey(data.public_key)
      return createUserPasskey({ ...api, path, body: { data: { name, credential } } })
    },
    done: () => {
      close()
      tellDone(t('users.passkeyMade'))
    },
    failed: take,
  })
  if (!hasPasskeys()) return <Text size="sm">{t('users.passkeysNeedTls')}</Text>
  return (
    <Group>
      <Button variant="default" onClick={open}>
        {t('users.newPasskey')}
      </Button>
      {opened && (
        <PasskeyNameDialog
          title={t('users.newPasskey')}
          text={t('users.newPasskeyText')}
          action={t('users.makePasskey')}
          busy={registering.isPending}
          problem={problem}
          onName={(name) => {
            forget()
            registering.mutate(name)
          }}
          onClose={() => {
            forget()
            close()
          }}
        />
      )}
    </Group>
  )
}
