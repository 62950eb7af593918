import { useTranslation } from 'react-i18next'
import { useBrand } from '../frame/place.tsx'
import { useAnswer } from '../lib/answers.ts'
import { HtmlFrame } from '../parts/html-frame.tsx'

/** The welcome text of the brand. */
export const Welcome = ({ url }: { url: string }) => {
  const { t } = useTranslation()
  const { name } = useBrand()
  const found = useAnswer(['welcome', url], async (signal) => (await fetch(url, { signal })).text())
  return found.data ? (
    <HtmlFrame html={found.data} title={t('signIn.welcome', { name })} height="12rem" />
  ) : null
}
