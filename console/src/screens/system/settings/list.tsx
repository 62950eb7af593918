import { listSchemas } from '@crosspoint/client'
import { NavLink, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { useTo } from '../../../frame/place.tsx'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { Loading } from '../../../parts/screen.tsx'

const prefix = 'system_config.'

/** All settings documents of the server, changed or not. */
export const SettingsList = () => {
  const { t } = useTranslation()
  const to = useTo()
  const [text, setText] = useState('')
  const found = useAnswer(['schema', 'names'], (signal) => listSchemas({ ...api, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const names = found.data.data
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((name) => name.includes(text.trim().toLowerCase()))
  return (
    <Stack maw="40rem">
      <TextInput
        type="search"
        aria-label={t('system.findSettings')}
        placeholder={t('system.findSettings')}
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
      />
      <nav aria-label={t('system.settings')}>
        {names.map((name) => (
          <NavLink key={name} component={Link} href={to(`system/settings/${name}`)} label={name} />
        ))}
      </nav>
    </Stack>
  )
}
