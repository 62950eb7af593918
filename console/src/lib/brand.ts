import { getHostWhitelabel } from '@crosspoint/client'
import { api } from './api.ts'

/** The whitelabel record of the host of this page. */
export interface Brand {
  name: string
  title: string
  /** `#rrggbb` */
  color: string | undefined
  logoUrl: string | undefined
  iconUrl: string | undefined
  welcomeUrl: string | undefined
  hidesPoweredBy: boolean
}

const unbranded: Brand = {
  name: 'Crosspoint',
  title: 'Crosspoint',
  color: undefined,
  logoUrl: undefined,
  iconUrl: undefined,
  welcomeUrl: undefined,
  hidesPoweredBy: false,
}

const hexColor = /^#[0-9a-f]{6}$/i

const textIn = (record: Record<string, unknown>, key: string) => {
  const value = record[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

const there = async (url: string) => {
  const answer = await fetch(url, { method: 'HEAD' }).catch(() => undefined)
  return answer?.ok ? url : undefined
}

/** Reads a brand without a token: it is shown before sign-in. */
export const loadBrand = async (): Promise<Brand> => {
  const host = encodeURIComponent(location.hostname)
  try {
    const { data } = await getHostWhitelabel({ ...api, path: { domain: location.hostname } })
    const record: Record<string, unknown> = data
    const file = (name: string) => there(`/v2/whitelabel/${host}/${name}`)
    const [logoUrl, iconUrl, welcomeUrl] = await Promise.all([file('logo'), file('icon'), file('welcome')])
    const name = textIn(record, 'company_name') ?? unbranded.name
    const color = textIn(record, 'brand_color')
    return {
      name,
      title: textIn(record, 'application_title') ?? name,
      color: color !== undefined && hexColor.test(color) ? color : undefined,
      logoUrl,
      iconUrl,
      welcomeUrl,
      hidesPoweredBy: record.hide_powered === true,
    }
  } catch {
    return unbranded
  }
}
