import { getMigration, listMigrations } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../../frame/place.tsx'
import { useAnswer } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'

const everyMilliseconds = 30_000

/** All migrations with their last runs for the account. */
export const useMigrations = () => {
  const { accountId } = usePlace()
  return useAnswer(
    ['migration', accountId, 'all'],
    async (signal) => {
      const path = { account_id: accountId }
      const { data } = await listMigrations({ ...api, path, signal })
      const read = async (migration_id: string) =>
        (await getMigration({ ...api, path: { ...path, migration_id }, signal })).data
      return Promise.all(Object.keys(data).map(read))
    },
    { every: everyMilliseconds },
  )
}

/** A migration in words: what it is called and what it does. */
export const useMigrationTexts = () => {
  const { t } = useTranslation()
  return ({ id, description }: { id: string; description: string }) => ({
    title: t(`system.migrationTitle.${id}`, { defaultValue: id }),
    text: t(`system.migrationText.${id}`, { defaultValue: description }),
  })
}
