import { useTranslation } from 'react-i18next'

export const deviceTypes = [
  'sip_device',
  'softphone',
  'ata',
  'fax',
  'smartphone',
  'mobile',
  'cellphone',
  'landline',
  'sip_uri',
] as const

/** A type in words; the API also takes others. */
export const useDeviceType = () => {
  const { t } = useTranslation()
  return (type: string) => t(`devices.types.${type}`, { defaultValue: type })
}
