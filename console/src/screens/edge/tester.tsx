import { getEdge } from '@crosspoint/client'
import { Alert, Button, Group, SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { CircleCheck, CircleX, Info } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { problemsOf } from '../../lib/problems.ts'
import { gregorianNow, showTime } from '../../lib/times.ts'
import { counters, periods } from './figures.ts'
import type { Subject } from './subject.ts'

interface Question {
  realm: string
  username: string
  address: string
  user_agent: string
}

const ask = async (query: Question) => {
  // An edge may cache the response for a minute. A conditional header makes the browser skip its cache, so that
  // a changed list applies at once.
  const headers = { 'if-none-match': '"none"' }
  const { data } = await getEdge({ ...api, query, headers })
  return { ...data, at: gregorianNow() }
}

type Decision = Awaited<ReturnType<typeof ask>>

const Verdict = ({ decision: { allowed, reason = '', at } }: { decision: Decision }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const Icon = allowed ? CircleCheck : CircleX
  return (
    <Alert
      color={allowed ? 'green' : 'red'}
      icon={<Icon aria-hidden />}
      title={t(allowed ? 'edge.passes' : 'edge.doesNotPass')}
      role="status"
    >
      <Text size="sm">{t(`edge.reason.${reason}`, { defaultValue: reason })}</Text>
      <Text size="xs" c="dimmed">
        {showTime(at, timezone)}
      </Text>
    </Alert>
  )
}

const showFigure = (figure: number, nothing: string) => (figure < 0 ? nothing : showNumber(figure))

const LimitsThen = ({ decision: { rate_limits } }: { decision: Decision }) => {
  const { t } = useTranslation()
  const title = t('edge.limitsThen')
  return (
    <Table.ScrollContainer minWidth={480} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={title} captionSide="top">
        <Table.Caption>{title}</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('edge.packets')}</Table.Th>
            {periods.flatMap((period) =>
              (['account', 'device'] as const).map((section) => (
                <Table.Th key={`${period} ${section}`} ta="end">
                  {t(`edge.${period}`)}, {t(`edge.short.${section}`)}
                </Table.Th>
              )),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {counters.map((counter) => (
            <Table.Tr key={counter}>
              <Table.Td>{t(`edge.${counter}`)}</Table.Td>
              {periods.flatMap((period) =>
                (['account', 'device'] as const).map((section) => (
                  <Table.Td key={`${period} ${section}`} ta="end">
                    {showFigure(rate_limits[section][period][counter], t('none'))}
                  </Table.Td>
                )),
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

const Questions = ({ subject: { device } }: { subject: Subject }) => {
  const { t } = useTranslation()
  const { realm } = usePlace()
  const form = useForm<Question>({
    initialValues: {
      realm: device?.realm ?? realm,
      username: device?.username ?? '',
      address: '',
      user_agent: '',
    },
  })
  const asking = useChange({
    touches: [],
    run: ask,
    failed: (error) => {
      const problems = problemsOf(error)
      form.setErrors(problems)
      return Object.keys(problems).length > 0
    },
  })
  return (
    <Stack>
      <form onSubmit={form.onSubmit((question) => asking.mutate(question))} noValidate>
        <Stack>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" verticalSpacing="sm">
            <TextInput label={t('edge.address')} placeholder="192.0.2.7" {...form.getInputProps('address')} />
            <TextInput label={t('edge.sender')} {...form.getInputProps('username')} />
            <TextInput label={t('edge.senderAgent')} {...form.getInputProps('user_agent')} />
            <TextInput label={t('edge.realm')} {...form.getInputProps('realm')} />
          </SimpleGrid>
          <Group>
            <Button type="submit" loading={asking.isPending} disabled={form.values.address.trim() === ''}>
              {t('edge.ask')}
            </Button>
          </Group>
        </Stack>
      </form>
      {asking.data && <Verdict decision={asking.data} />}
      {asking.data && <LimitsThen decision={asking.data} />}
    </Stack>
  )
}

/** The access test: whether a packet from an address is allowed. Only parent accounts may run it. */
export const Tester = ({ subject }: { subject: Subject }) => {
  const { t } = useTranslation()
  const { isOwn, actsForMaster, name } = usePlace()
  if (isOwn && !actsForMaster) {
    return (
      <Alert color="blue" icon={<Info aria-hidden />} title={t('edge.mayNotAsk')}>
        {t('edge.mayNotAskText', { name })}
      </Alert>
    )
  }
  return <Questions subject={subject} />
}
