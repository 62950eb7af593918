import { createSignal } from './signal.ts'
import { locale } from './texts.ts'

/** The currency of the server (ISO 4217); undefined until it is read. */
export const currencyInUse = createSignal<string | undefined>(undefined)

export const showNumber = (value: number, options?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(locale(), options).format(value)

export const showPercent = (ratio: number) =>
  showNumber(ratio, { style: 'percent', maximumFractionDigits: 1 })

const showAmount = (amount: number, maximumFractionDigits: number, currency = currencyInUse.get()) =>
  showNumber(amount, {
    ...(currency === undefined ? { minimumFractionDigits: 2 } : { style: 'currency', currency }),
    maximumFractionDigits,
  })

/** Money in units of currency, with as many digits as it has, up to four. A bare number while no currency is known. */
export const showMoney = (amount: number, currency = currencyInUse.get()) => showAmount(amount, 4, currency)

/** A price per minute, which has up to eight decimals. */
export const showCallPrice = (amount: number) => showAmount(amount, 8)

/** The currency symbol of a money field, on its usual side. */
export const moneySigns = (currency = currencyInUse.get()): { prefix?: string; suffix?: string } => {
  if (currency === undefined) return {}
  const parts = new Intl.NumberFormat(locale(), { style: 'currency', currency }).formatToParts(1)
  const sign = parts.find(({ type }) => type === 'currency')?.value ?? currency
  return parts[0]?.type === 'currency' ? { prefix: sign } : { suffix: ` ${sign}` }
}

/**
 * The value of a number field: text while the user types, such as `10.50`, a number after the field is left.
 * Undefined if empty or not a number.
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
