import { getAccount, listDescendants, listDevices, listPhoneNumbers, listUsers } from '@crosspoint/client'
import { Anchor, Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { Circle, CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Place, usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { ToScreen } from '../../parts/link.tsx'

interface Step {
  id: 'reseller' | 'account' | 'user' | 'device' | 'number'
  isDone: boolean
  /** The form that does it; undefined while something else has to come first. */
  to: string | undefined
}

// With more accounts than this, the first steps are not shown.
const fewAccounts = 20
const askedEvery = 15_000

/** Those below an account, resellers apart; undefined when there are many. */
const accountsBelow = async (accountId: string, signal: AbortSignal) => {
  const path = { account_id: accountId }
  const { data } = await getAccount({ ...api, path, signal })
  const count = data.descendants_count ?? 0
  if (count > fewAccounts) return undefined
  if (count === 0) return { resellers: [], customers: [] }
  const having = (isReseller: boolean) =>
    listDescendants({ ...api, path, query: { filters: { filter_is_reseller: String(isReseller) } }, signal })
  const [resellers, customers] = await Promise.all([having(true), having(false)])
  return { resellers: resellers.data, customers: customers.data }
}

const useAccountsBelow = (place: Place, enabled: boolean) => {
  const { accountId, isMaster, isReseller } = place
  const sells = isMaster || isReseller
  const found = useAnswer(
    ['account', accountId, 'first_steps'],
    async (signal) => ({ below: await accountsBelow(accountId, signal) }),
    // Sub-accounts have their own events, which this stream does not contain.
    { enabled: enabled && sells, every: askedEvery },
  )
  return { sells, below: found.data?.below }
}

/** The missing steps before users can call; undefined until they are known. */
const useStepsIn = (accountId: string | undefined, enabled: boolean): readonly Step[] | undefined => {
  const options = { enabled: enabled && accountId !== undefined, every: askedEvery }
  const asked = { ...api, path: { account_id: accountId ?? '' }, query: { page_size: 1 } }
  const users = useAnswer(
    ['user', accountId, 'any'],
    async (signal) => (await listUsers({ ...asked, signal })).data.length > 0,
    options,
  )
  const devices = useAnswer(
    ['device', accountId, 'any'],
    async (signal) => (await listDevices({ ...asked, signal })).data.length > 0,
    options,
  )
  const numbers = useAnswer(
    ['number', accountId, 'any'],
    async (signal) => {
      const { data } = await listPhoneNumbers({ ...asked, signal })
      return !Array.isArray(data) && Object.keys(data.numbers).length > 0
    },
    options,
  )
  const found = [users.data, devices.data, numbers.data]
  if (accountId !== undefined && found.includes(undefined)) return undefined
  const to = (screen: string) => (accountId === undefined ? undefined : `/a/${accountId}/${screen}`)
  const [user = false, device = false, number = false] = found
  return [
    { id: 'user', isDone: user, to: to('users/new') },
    { id: 'device', isDone: device, to: to('devices/new') },
    { id: 'number', isDone: number, to: to('numbers') },
  ]
}

/** The steps in order; none if the account has much data or it is not known yet. */
const useSteps = (place: Place, enabled: boolean): readonly Step[] => {
  const { accountId, isMaster } = place
  const { sells, below } = useAccountsBelow(place, enabled)
  const [reseller] = below?.resellers ?? []
  const [customer] = below?.customers ?? []
  const isKnown = !sells || below !== undefined
  const rest = useStepsIn(sells ? customer?.id : accountId, enabled && isKnown)
  if (!isKnown || rest === undefined) return []
  if (!sells) return rest
  const seller = isMaster ? (reseller?.id ?? accountId) : accountId
  return [
    ...(isMaster
      ? [
          {
            id: 'reseller',
            isDone: reseller !== undefined,
            to: `/a/${accountId}/accounts/new?reseller=true`,
          } as const,
        ]
      : []),
    { id: 'account', isDone: customer !== undefined, to: `/a/${seller}/accounts/new` },
    ...rest,
  ]
}

const hiddenKey = (accountId: string) => `crosspoint.firstSteps.${accountId}`

const StepRow = ({ step: { id, isDone, to }, isNext }: { step: Step; isNext: boolean }) => {
  const { t } = useTranslation()
  const title = t(`firstSteps.${id}`)
  return (
    <Group component="li" gap="sm" wrap="nowrap" align="flex-start">
      {isDone ? (
        <CircleCheck size={20} aria-hidden color="var(--mantine-color-green-7)" style={{ flexShrink: 0 }} />
      ) : (
        <Circle
          size={20}
          aria-hidden
          color={`var(--mantine-${isNext ? 'primary-color-filled' : 'color-dimmed'})`}
          style={{ flexShrink: 0 }}
        />
      )}
      <div>
        <Group gap="xs" fw={isNext ? 600 : undefined}>
          {isDone || to === undefined ? (
            <Text inherit c={isDone ? 'dimmed' : undefined}>
              {title}
            </Text>
          ) : (
            <ToScreen to={to}>{title}</ToScreen>
          )}
          {isDone && <Badge color="green">{t('firstSteps.done')}</Badge>}
        </Group>
        {!isDone && (
          <Text size="sm" c="dimmed">
            {t(to === undefined ? 'firstSteps.later' : `firstSteps.${id}Why`)}
          </Text>
        )}
      </div>
    </Group>
  )
}

/** The first steps of an empty account; hidden when all are done. */
export const FirstSteps = () => {
  const { t } = useTranslation()
  const place = usePlace()
  const { accountId, isMaster, isReseller } = place
  const [isHidden, setIsHidden] = useState(() => localStorage.getItem(hiddenKey(accountId)) !== null)
  const steps = useSteps(place, !isHidden)
  const left = steps.filter(({ isDone }) => !isDone)
  // Operators may sell without resellers.
  if (isHidden || left.every(({ id }) => id === 'reseller')) return null
  const hide = () => {
    localStorage.setItem(hiddenKey(accountId), 'hidden')
    setIsHidden(true)
  }
  return (
    <Paper component="section" aria-label={t('firstSteps.title')} withBorder p="md">
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="sm">
            <Title order={2} size="h4">
              {t('firstSteps.title')}
            </Title>
            <Text size="sm" c="dimmed">
              {t('firstSteps.progress', { done: steps.length - left.length, all: steps.length })}
            </Text>
          </Group>
          <Button size="compact-sm" variant="default" onClick={hide}>
            {t('firstSteps.hide')}
          </Button>
        </Group>
        <Text size="sm">
          {t(`firstSteps.text.${isMaster ? 'operator' : isReseller ? 'reseller' : 'customer'}`)}
        </Text>
        <Stack component="ol" gap="sm" style={{ listStyle: 'none', margin: 0, padding: 0 }}>
          {steps.map((step) => (
            <StepRow key={step.id} step={step} isNext={step === left[0]} />
          ))}
        </Stack>
        <Anchor href="/docs/start/first-call.html" size="sm">
          {t('firstSteps.guide')}
        </Anchor>
      </Stack>
    </Paper>
  )
}
