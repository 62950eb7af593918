import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Screen } from '../parts/screen.tsx'

export const NotFound = () => {
  const { t } = useTranslation()
  return (
    <Screen title={t('notFound.title')}>
      <Text>{t('notFound.text')}</Text>
    </Screen>
  )
}
