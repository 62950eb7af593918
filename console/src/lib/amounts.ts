import { createSignal } from './signal.ts'
import { locale } from './texts.ts'

/** Of all money of the server (ISO 4217); undefined until the server has said so. */
export const currencyInUse = createSignal<string | undefined>(undefined)

export const showNumber = (value: number, options?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(locale(), options).format(value)

export const showPercent = (ratio: number) =>
  showNumber(ratio, { style: 'percent', maximumFractionDigits: 1 })

/** Money in units of currency, with as many digits as it has, up to four. A bare number while no currency is known. */
export const showMoney = (amount: number, currency = currencyInUse.get()) =>
  showNumber(amount, {
    ...(currency === undefined ? { minimumFractionDigits: 2 } : { style: 'currency', currency }),
    maximumFractionDigits: 4,
  })

/** What a field for money shows beside the number: the sign of the currency, on the side where it is written. */
export const moneySigns = (currency = currencyInUse.get()): { prefix?: string; suffix?: string } => {
  if (currency === undefined) return {}
  const parts = new Intl.NumberFormat(locale(), { style: 'currency', currency }).formatToParts(1)
  const sign = parts.find(({ type }) => type === 'currency')?.value ?? currency
  return parts[0]?.type === 'currency' ? { prefix: sign } : { suffix: ` ${sign}` }
}

/**
 * What stands in a field for numbers: it is a text while somebody types, such as `10.50`, and a number only when the field
 * is left. Undefined for nothing, and for what is no number.
 */
export const numberIn = (typed: number | string): number | undefined => {
  if (typeof typed === 'number') return typed
  const value = Number(typed)
  return typed.trim() !== '' && Number.isFinite(value) ? value : undefined
}

export const showBytes = (bytes: number) =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${showNumber(bytes / 1024, { maximumFractionDigits: 1 })} kB`
      : `${showNumber(bytes / 1024 ** 2, { maximumFractionDigits: 1 })} MB`
