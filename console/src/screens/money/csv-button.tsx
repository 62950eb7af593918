import type { Query } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { crosspoint } from '../../lib/api.ts'
import { SaveButton } from '../../parts/save-button.tsx'

/** Saves the rows of a list as a CSV file, just those that it shows. */
export const CsvButton = ({ name, path, query = {} }: { name: string; path: string; query?: Query }) => {
  const { t } = useTranslation()
  return (
    <SaveButton name={name} open={(signal) => crosspoint.csv(path, { query, signal }).bytes()}>
      {t('money.csv')}
    </SaveButton>
  )
}
