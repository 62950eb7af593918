import { locale } from './texts.ts'

export const showNumber = (value: number, options?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(locale(), options).format(value)

export const showPercent = (ratio: number) =>
  showNumber(ratio, { style: 'percent', maximumFractionDigits: 1 })

/** Money in units of currency, with as many digits as it has, up to four. */
export const showMoney = (amount: number, currency = 'USD') =>
  showNumber(amount, { style: 'currency', currency, maximumFractionDigits: 4 })

export const showBytes = (bytes: number) =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${showNumber(bytes / 1024, { maximumFractionDigits: 1 })} kB`
      : `${showNumber(bytes / 1024 ** 2, { maximumFractionDigits: 1 })} MB`
