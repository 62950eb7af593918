import { updateUser } from '@crosspoint/client'
import { Badge, Button, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useOwnUser } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'

/** Turns call forwarding of the user on and off. */
export const Forwarding = ({ path }: { path: { account_id: string; user_id: string } }) => {
  const { t } = useTranslation()
  const { data: user } = useOwnUser()
  const { enabled = false, number = '' } = user?.data.call_forward ?? {}
  const [typed, setTyped] = useState<string>()
  const target = (typed ?? number).trim()
  const saving = useChange({
    touches: ['user'],
    // Sent without If-Match: a change of other fields must not refuse it.
    run: (isOn: boolean) => {
      const changes = isOn ? { enabled: true, number: target } : { enabled: false }
      return updateUser({ ...api, path, body: { data: { call_forward: changes } } })
    },
    done: (_, isOn) => {
      setTyped(undefined)
      tellDone(t(isOn ? 'overview.forwarding.turnedOn' : 'overview.forwarding.turnedOff'))
    },
  })
  if (!user) return null
  const isChanged = !enabled || target !== number
  return (
    <Paper component="section" aria-label={t('overview.forwarding.title')} withBorder p="md" h="100%">
      <Stack
        component="form"
        gap="sm"
        onSubmit={(event) => {
          event.preventDefault()
          saving.mutate(true)
        }}
      >
        <Group justify="space-between">
          <Title order={2} size="h4">
            {t('overview.forwarding.title')}
          </Title>
          <Badge color={enabled ? 'green' : 'gray'}>
            {t(enabled ? 'overview.forwarding.on' : 'overview.forwarding.off')}
          </Badge>
        </Group>
        <Text size="sm" c="dimmed">
          {enabled ? t('overview.forwarding.goesTo', { number }) : t('overview.forwarding.text')}
        </Text>
        <TextInput
          label={t('overview.forwarding.number')}
          type="tel"
          value={typed ?? number}
          onChange={({ currentTarget: { value } }) => setTyped(value)}
        />
        <Group gap="xs">
          <Button type="submit" disabled={target === '' || !isChanged} loading={saving.isPending}>
            {t(enabled ? 'overview.forwarding.change' : 'overview.forwarding.turnOn')}
          </Button>
          {enabled && (
            <Button variant="default" disabled={saving.isPending} onClick={() => saving.mutate(false)}>
              {t('overview.forwarding.turnOff')}
            </Button>
          )}
        </Group>
      </Stack>
    </Paper>
  )
}
