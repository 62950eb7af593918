import { useTranslation } from 'react-i18next'

/** A kind of records in words: `service_plan` is a plan. */
export const useKindName = () => {
  const { t } = useTranslation()
  return (kind: string) => t(`events.kind.${kind}`, { defaultValue: kind.replaceAll('_', ' ') })
}
