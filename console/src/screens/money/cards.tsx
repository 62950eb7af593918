import {
  CrosspointError,
  choosePaymentToken,
  createServicePaymentToken,
  deleteServicePaymentToken,
  listServicePaymentTokens,
  setUpPaymentToken,
} from '@crosspoint/client'
import {
  Alert,
  Badge,
  Button,
  Checkbox,
  Code,
  Group,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { gregorianNow, showDay } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { LineForm } from '../../parts/titled.tsx'
import { textAt } from './values.ts'
import { Wide } from './wide.tsx'

interface Token {
  id: string
  default: boolean
  expiration?: number
  metadata: object
}

const nameOf = ({ id, metadata }: Token) => {
  const lastFour = textAt(metadata, 'last_four')
  const brand = textAt(metadata, 'brand') ?? ''
  return lastFour === undefined ? id : `${brand} •••• ${lastFour}`.trim()
}

const CardRow = ({ token, onRemove }: { token: Token; onRemove: () => void }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const choosing = useChange({
    touches: ['services'],
    run: () => {
      const path = { account_id: accountId, token_id: token.id }
      return choosePaymentToken({ ...api, path, body: { data: { default: true } } })
    },
    done: () => tellDone(t('saved')),
  })
  const name = nameOf(token)
  const { expiration } = token
  const isExpired = expiration !== undefined && expiration < gregorianNow()
  return (
    <Table.Tr>
      <Table.Td>{name}</Table.Td>
      <Table.Td>
        {expiration === undefined ? '' : showDay(expiration, timezone)}{' '}
        {isExpired && <Badge color="red">{t('money.cards.expired')}</Badge>}
      </Table.Td>
      <Table.Td>
        {token.default ? (
          <Badge color="green">{t('money.cards.charged')}</Badge>
        ) : (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`${t('money.cards.choose')}: ${name}`}
            loading={choosing.isPending}
            onClick={() => choosing.mutate(undefined)}
          >
            {t('money.cards.choose')}
          </Button>
        )}
      </Table.Td>
      <Table.Td>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={t('money.cards.removeOne', { name })}
          onClick={onRemove}
        >
          {t('money.cards.remove')}
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}

const CardTable = ({ tokens }: { tokens: readonly Token[] }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [asked, setAsked] = useState<Token>()
  const removing = useChange({
    touches: ['services'],
    run: ({ id }: Token) =>
      deleteServicePaymentToken({ ...api, path: { account_id: accountId, token_id: id } }),
    done: () => {
      setAsked(undefined)
      tellDone(t('deleted'))
    },
  })
  return (
    <>
      <Wide label={t('money.part.cards')}>
        <Table aria-label={t('money.part.cards')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('money.cards.card')}</Table.Th>
              <Table.Th>{t('money.cards.lasts')}</Table.Th>
              <Table.Th>{t('money.cards.use')}</Table.Th>
              <Table.Th>{t('money.action')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {tokens.map((token) => (
              <CardRow key={token.id} token={token} onRemove={() => setAsked(token)} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      <Confirm
        opened={asked !== undefined}
        title={t('money.cards.removeTitle')}
        text={t('money.cards.removeText', { name: asked ? nameOf(asked) : '' })}
        action={t('money.cards.remove')}
        busy={removing.isPending}
        onConfirm={() => asked && removing.mutate(asked)}
        onClose={() => setAsked(undefined)}
      />
    </>
  )
}

interface Setup {
  client_secret: string
  publishable_key?: string
}

const KeepForm = ({ setup, onKept }: { setup: Setup; onKept: () => void }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [method, setMethod] = useState('')
  const [isDefault, setDefault] = useState(true)
  const [problem, setProblem] = useState<string>()
  const keeping = useChange({
    touches: ['services'],
    run: () =>
      createServicePaymentToken({
        ...api,
        path: { account_id: accountId },
        body: { data: { payment_method: method, default: isDefault } },
      }),
    done: () => {
      tellDone(t('money.cards.kept'))
      onKept()
    },
    failed: (error) => {
      const found = error instanceof CrosspointError ? error.problems[0] : undefined
      setProblem(found?.message)
      return found !== undefined
    },
  })
  return (
    <Stack gap="sm">
      <Text size="sm">{t('money.cards.setupText')}</Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {t('money.cards.publishableKey')}: <Code>{setup.publishable_key ?? t('none')}</Code>
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {t('money.cards.clientSecret')}: <Code>{setup.client_secret}</Code>
      </Text>
      <LineForm onSubmit={() => keeping.mutate(undefined)}>
        <TextInput
          label={t('money.cards.method')}
          placeholder="pm_…"
          maxLength={255}
          value={method}
          error={problem}
          onChange={({ currentTarget }) => setMethod(currentTarget.value.trim())}
        />
        <Checkbox
          label={t('money.cards.choose')}
          checked={isDefault}
          onChange={({ currentTarget }) => setDefault(currentTarget.checked)}
        />
        <Button type="submit" disabled={method === ''} loading={keeping.isPending}>
          {t('money.cards.keep')}
        </Button>
      </LineForm>
    </Stack>
  )
}

/** Numbers of cards go from the browser to the gateway, and never through this console. */
const AddCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [setup, setSetup] = useState<Setup>()
  const [isWithout, setWithout] = useState(false)
  const beginning = useChange({
    touches: [],
    run: () => setUpPaymentToken({ ...api, path: { account_id: accountId } }),
    done: ({ data }) => setSetup(data),
    failed: (error) => {
      const isMissing = error instanceof CrosspointError && error.kind === 'not_configured'
      setWithout(isMissing)
      return isMissing
    },
  })
  return (
    <Stack gap="sm" component="section" aria-label={t('money.cards.addTitle')}>
      <Title order={2} size="h4">
        {t('money.cards.addTitle')}
      </Title>
      {setup ? (
        <KeepForm setup={setup} onKept={() => setSetup(undefined)} />
      ) : (
        <Group>
          <Button loading={beginning.isPending} onClick={() => beginning.mutate(undefined)}>
            {t('money.cards.add')}
          </Button>
        </Group>
      )}
      {isWithout && (
        <Alert color="blue" title={t('money.cards.noGatewayTitle')} role="status">
          {t('money.cards.noGateway')}
        </Alert>
      )}
    </Stack>
  )
}

/** What an account pays with. */
export const CardList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const found = useAnswer(['services', accountId, 'cards'], (signal) =>
    listServicePaymentTokens({ ...api, path: { account_id: accountId }, signal }),
  )
  const tokens = found.data?.data ?? []
  return (
    <Screen title={t('money.part.cards')}>
      {found.error ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {!found.data && !found.error && <Loading />}
      {found.data && tokens.length === 0 && <Text>{t('money.cards.none')}</Text>}
      {tokens.length > 0 && <CardTable tokens={tokens} />}
      {found.data && <AddCard />}
    </Screen>
  )
}
