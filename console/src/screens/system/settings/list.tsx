import { listSchemas, listSystemConfigs } from '@crosspoint/client'
import { Badge, Box, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../../frame/place.tsx'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { type Schema, useSchemas } from '../../../lib/schemas.ts'
import { labelOf } from '../../../parts/fields.tsx'
import { ToScreen } from '../../../parts/link.tsx'
import { Loading } from '../../../parts/screen.tsx'
import { SearchBox } from '../../../parts/search-box.tsx'
import { areas, textKey } from './documents.ts'

const prefix = 'system_config.'

// A shorter text is in most fields, and reading the fields takes a request for each document.
const shortestForFields = 3

interface Found {
  name: string
  title: string
  text: string
  /** The fields that the search is about, where the document itself is not. */
  fields: readonly string[]
}

const fieldsOf = ({ properties = {} }: Schema, path = ''): readonly string[] =>
  Object.entries(properties).flatMap(([key, part]) => {
    const own = path === '' ? key : `${path}.${key}`
    return part.properties ? fieldsOf(part, own) : [own]
  })

const useTexts = () => {
  const { t } = useTranslation()
  return (name: string) => ({
    title: t(`${textKey(name)}.title`, { defaultValue: name }),
    text: t(`${textKey(name)}.text`, { defaultValue: '' }),
  })
}

/** The documents that a text is in: in the name, the title, or a field. */
const useSearch = (names: readonly string[], typed: string): readonly Found[] => {
  const textsOf = useTexts()
  const wanted = typed.toLowerCase()
  const schemas = useSchemas(
    names.map((name) => `${prefix}${name}`),
    wanted.length >= shortestForFields,
  )
  return names.flatMap((name) => {
    const { title, text } = textsOf(name)
    if ([name, title, text].some((one) => one.toLowerCase().includes(wanted)))
      return [{ name, title, text, fields: [] }]
    const schema = schemas.get(`${prefix}${name}`)
    if (!schema || wanted.length < shortestForFields) return []
    const fields = fieldsOf(schema).filter((path) =>
      [path, labelOf(path)].some((one) => one.toLowerCase().includes(wanted)),
    )
    return fields.length > 0 ? [{ name, title, text, fields }] : []
  })
}

const Line = ({ found: { name, title, text, fields }, isChanged }: { found: Found; isChanged: boolean }) => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <Group
      component="li"
      justify="space-between"
      wrap="nowrap"
      py="xs"
      style={{ borderTop: '1px solid var(--mantine-color-default-border)' }}
    >
      <Box style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        <ToScreen to={to(`system/settings/${name}`)}>{title}</ToScreen>
        <Text size="sm" c="dimmed">
          {text}
        </Text>
        {fields.length > 0 && (
          <Text size="sm">
            {t('system.fieldsFound', { fields: fields.map((path) => labelOf(path)).join(', ') })}
          </Text>
        )}
      </Box>
      {isChanged && (
        <Badge variant="light" color="blue" style={{ flexShrink: 0 }}>
          {t('system.changed')}
        </Badge>
      )}
    </Group>
  )
}

const Area = ({
  title,
  found,
  changed,
}: {
  title: string
  found: readonly Found[]
  changed: readonly string[]
}) =>
  found.length > 0 && (
    <Card withBorder component="section" aria-label={title} padding="lg">
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <Box component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
        {found.map((one) => (
          <Line key={one.name} found={one} isChanged={changed.includes(one.name)} />
        ))}
      </Box>
    </Card>
  )

/** All settings documents of the server by area, changed or not. */
export const SettingsList = () => {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const schemas = useAnswer(['schema', 'names'], (signal) => listSchemas({ ...api, signal }))
  const stored = useAnswer(['system_config', 'names'], (signal) =>
    listSystemConfigs({ ...api, query: { paginate: false }, signal }),
  )
  const names = (schemas.data?.data ?? [])
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
  const found = useSearch(names, text)
  if (schemas.error && !schemas.data) return <FailureNote error={schemas.error} again={schemas.refetch} />
  if (!schemas.data) return <Loading />
  const changed = stored.data?.data ?? []
  const known: readonly string[] = areas.flatMap(({ documents }) => documents)
  const within = (documents: readonly string[]) =>
    documents.flatMap((name) => found.find((one) => one.name === name) ?? [])
  return (
    <Stack>
      <Box maw="24rem">
        <SearchBox label={t('system.findSettings')} onSearch={setText} />
      </Box>
      <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
        {areas.map(({ id, documents }) => (
          <Area key={id} title={t(`system.areas.${id}`)} found={within(documents)} changed={changed} />
        ))}
        <Area
          title={t('system.areas.other')}
          found={found.filter(({ name }) => !known.includes(name))}
          changed={changed}
        />
      </SimpleGrid>
      {found.length === 0 && <Text>{t('system.noSettingsFound')}</Text>}
    </Stack>
  )
}
