import { createSubAccount, createUser, getAccount, listUsers, promoteToReseller } from '@crosspoint/client'
import { Box, Group, Stack, Stepper, Switch, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams, useSearch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote, tellFailure } from '../../lib/failures.tsx'
import type { JsonObject } from '../../lib/json.ts'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { NewRecord } from '../../parts/new-record.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { newGroups, own } from './fields.tsx'
import { PlanStep } from './plan-step.tsx'

/** The later steps have their own address, so that users can return to them. */
const steps = ['account', 'admin', 'plan', 'numbers'] as const
type Step = (typeof steps)[number]

const stepIn = (text: string | undefined): Step => steps.find((step) => step === text) ?? 'admin'

const ResellerSwitch: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, ...rest } = form.getInputProps(path)
  return (
    <Switch
      {...rest}
      checked={value === true}
      label={labelOf(path)}
      description={t('accounts.wizard.resellerHelp')}
      mt="lg"
    />
  )
}

/** Only the operator makes resellers. */
const resellerGroups: readonly FieldGroup[] = [
  { title: 'accounts.basics', fields: [...(newGroups[0]?.fields ?? []), 'is_reseller'] },
]

const AccountStep = () => {
  const { accountId, actsForMaster } = usePlace()
  const to = useTo()
  const wantsReseller = new URLSearchParams(useSearch()).get('reseller') === 'true'
  const create = async ({ is_reseller: isReseller, ...record }: JsonObject) => {
    const made = await createSubAccount({
      ...api,
      path: { account_id: accountId },
      body: { data: { name: '', ...record } },
    })
    // The account exists even if this fails: the remaining steps are shown and can be done on its record.
    if (isReseller === true)
      await promoteToReseller({ ...api, path: { account_id: made.data.id } }).catch(tellFailure)
    return made
  }
  return (
    <NewRecord
      kind="account"
      schemaName="accounts"
      groups={actsForMaster ? resellerGroups : newGroups}
      own={{ ...own, is_reseller: ResellerSwitch }}
      initial={actsForMaster && wantsReseller ? { is_reseller: true } : {}}
      create={create}
      to={(id) => to(`accounts/new/${id}/admin`)}
    />
  )
}

interface OfNew {
  newId: string
}

const adminGroups: readonly FieldGroup[] = [
  { title: 'accounts.wizard.admin', fields: ['first_name', 'last_name', 'email', 'username', 'password'] },
]

const AdminStep = ({ newId }: OfNew) => {
  const { t } = useTranslation()
  const to = useTo()
  const users = useAnswer(['user', newId, 'any'], (signal) =>
    listUsers({ ...api, path: { account_id: newId }, query: { page_size: 1 }, signal }),
  )
  return (
    <Stack>
      <Text>
        {users.data && users.data.data.length > 0
          ? t('accounts.wizard.adminExists')
          : t('accounts.wizard.adminText')}
      </Text>
      <NewRecord
        kind="user"
        schemaName="users"
        groups={adminGroups}
        create={(record) =>
          createUser({
            ...api,
            path: { account_id: newId },
            body: { data: { first_name: '', last_name: '', ...record, priv_level: 'admin' } },
          })
        }
        to={() => to(`accounts/new/${newId}/plan`)}
      />
    </Stack>
  )
}

const NumbersStep = ({ newId }: OfNew) => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <Stack>
      <Text>{t('accounts.wizard.numbersText')}</Text>
      <Group>
        <ButtonToScreen to={`/a/${newId}/numbers`}>{t('accounts.wizard.toNumbers')}</ButtonToScreen>
        <ButtonToScreen to={to(`accounts/${newId}`)} variant="default">
          {t('accounts.wizard.finish')}
        </ButtonToScreen>
      </Group>
    </Stack>
  )
}

const stepsOfNew: Readonly<Record<Exclude<Step, 'account'>, (props: OfNew) => ReactNode>> = {
  admin: AdminStep,
  plan: PlanStep,
  numbers: NumbersStep,
}

/** Sets up an account in steps: each step is saved when it ends and can be skipped. */
const FurtherSteps = ({ newId, step }: OfNew & { step: Exclude<Step, 'account'> }) => {
  const { t } = useTranslation()
  const to = useTo()
  const found = useAnswer(['account', newId], (signal) =>
    getAccount({ ...api, path: { account_id: newId }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const Shown = stepsOfNew[step]
  const next = steps[steps.indexOf(step) + 1]
  return (
    <Stack maw="60rem">
      <Text fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
        {found.data.data.name}
      </Text>
      <Shown key={step} newId={newId} />
      {next && (
        <Group>
          <ButtonToScreen to={to(`accounts/new/${newId}/${next}`)} variant="default">
            {t('accounts.wizard.skip')}
          </ButtonToScreen>
        </Group>
      )}
    </Stack>
  )
}

/** A new account, from its name to its numbers. */
export const NewAccount = () => {
  const { t } = useTranslation()
  const { newId, step: asked } = useParams()
  const to = useTo()
  const [, go] = useLocation()
  const step = newId === undefined ? 'account' : stepIn(asked)
  return (
    <Screen title={t('accounts.new')}>
      <Stepper
        active={steps.indexOf(step)}
        onStepClick={(index) => go(to(`accounts/new/${newId}/${steps[index]}`))}
        size="sm"
        mb="md"
        maw="60rem"
      >
        {steps.map((id) => (
          <Stepper.Step
            key={id}
            label={t(`accounts.wizard.${id}`)}
            allowStepSelect={newId !== undefined && id !== 'account'}
          />
        ))}
      </Stepper>
      {newId === undefined || step === 'account' ? (
        <Box maw="60rem">
          <AccountStep />
        </Box>
      ) : (
        <FurtherSteps newId={newId} step={step} />
      )}
    </Screen>
  )
}
