import {
  ActionIcon,
  Button,
  Group,
  Input,
  NumberInput,
  Paper,
  Select,
  Stack,
  Text,
  ThemeIcon,
} from '@mantine/core'
import { Phone, Trash2, UserRound, UsersRound } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { JsonObject } from '../lib/json.ts'
import { type Schema, schemaAt } from '../lib/schemas.ts'
import { RecordChoice, useRecordName } from './record-select.tsx'

const kinds = ['user', 'device', 'group'] as const
type Kind = (typeof kinds)[number]

const isKind = (type: string): type is Kind => kinds.some((kind) => kind === type)

const icons = { user: UserRound, device: Phone, group: UsersRound }

/** Someone or something that rings, and its settings. */
export interface Member {
  type: string
  id: string
  settings: JsonObject
}

interface Changes {
  members: readonly Member[]
  onChange: (members: readonly Member[]) => void
}

interface MemberRowProps {
  member: Member
  /** The schema of the settings. */
  schema: Schema
  /** Name, if it is known without a request. */
  known?: string
  problem?: string
  onChange: (member: Member | undefined) => void
}

const MemberRow = ({ member, schema, known, problem, onChange }: MemberRowProps) => {
  const { t } = useTranslation()
  const { type, id, settings } = member
  const kind = isKind(type) ? type : 'device'
  const name = useRecordName(kind, id, known)
  const Icon = icons[kind]
  return (
    <Paper component="li" withBorder p="sm" aria-label={name}>
      <Group justify="space-between" gap="sm">
        <Group gap="sm" wrap="nowrap" flex="1 1 14rem" miw={0}>
          <ThemeIcon variant="light" size="lg" aria-hidden>
            <Icon size={18} />
          </ThemeIcon>
          <div style={{ minWidth: 0 }}>
            <Text style={{ overflowWrap: 'anywhere' }}>
              <bdi>{name}</bdi>
            </Text>
            <Text size="xs" c="dimmed">
              {t(`members.${kind}`)}
            </Text>
          </div>
        </Group>
        <Group gap={6} align="end">
          {(['delay', 'timeout', 'weight'] as const).map((key) => {
            const { minimum, maximum, default: usual } = schemaAt(schema, key) ?? {}
            const value = settings[key]
            const set = (given: string | number) =>
              onChange({ ...member, settings: { ...settings, [key]: given === '' ? undefined : given } })
            return (
              <NumberInput
                key={key}
                label={t(`members.${key}`)}
                w="4.75rem"
                size="xs"
                value={typeof value === 'number' || typeof value === 'string' ? value : ''}
                placeholder={usual === undefined ? '' : String(usual)}
                min={minimum}
                max={maximum}
                allowDecimal={false}
                clampBehavior="none"
                onChange={set}
              />
            )
          })}
          <ActionIcon
            variant="default"
            size="30"
            aria-label={t('members.remove', { name })}
            onClick={() => onChange(undefined)}
          >
            <Trash2 size={16} aria-hidden />
          </ActionIcon>
        </Group>
      </Group>
      {problem && (
        <Text size="sm" c="var(--mantine-color-error)" mt="xs">
          {problem}
        </Text>
      )}
    </Paper>
  )
}

const NewMember = ({ members, onChange }: Changes) => {
  const { t } = useTranslation()
  const [kind, setKind] = useState<Kind>('user')
  const [id, setId] = useState<string | null>(null)
  const add = () => {
    if (id === null) return
    onChange([...members, { type: kind, id, settings: {} }])
    setId(null)
  }
  return (
    <Group align="end" gap="sm">
      <Select
        label={t('members.kind')}
        w="9rem"
        data={kinds.map((value) => ({ value, label: t(`members.${value}`) }))}
        value={kind}
        allowDeselect={false}
        onChange={(chosen) => {
          if (chosen) setKind(chosen)
          setId(null)
        }}
      />
      <RecordChoice
        kind={kind}
        label={t('members.who')}
        value={id}
        without={members.map((member) => member.id)}
        onChange={setId}
      />
      <Button variant="default" disabled={id === null} onClick={add}>
        {t('members.add')}
      </Button>
    </Group>
  )
}

/** Users, phones and groups that ring, with delay, ring time and weight. */
export const MembersInput = ({
  members,
  onChange,
  schema,
  knownName = () => undefined,
  problemOf = () => undefined,
}: Changes & {
  schema: Schema
  knownName?: (id: string) => string | undefined
  problemOf?: (id: string) => string | undefined
}) => {
  const { t } = useTranslation()
  const replace = (old: Member, changed: Member | undefined) =>
    onChange(members.flatMap((member) => (member === old ? (changed ?? []) : [member])))
  return (
    <Stack gap="sm">
      {members.length === 0 && <Text c="dimmed">{t('members.none')}</Text>}
      <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
        {members.map((member) => (
          <MemberRow
            key={member.id}
            member={member}
            schema={schema}
            known={knownName(member.id)}
            problem={problemOf(member.id)}
            onChange={(changed) => replace(member, changed)}
          />
        ))}
      </Stack>
      {members.length > 0 && <Input.Description>{t('members.help')}</Input.Description>}
      <NewMember members={members} onChange={onChange} />
    </Stack>
  )
}
