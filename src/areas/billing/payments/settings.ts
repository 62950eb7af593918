import { Type } from 'typebox'
import { vendors } from '../../../payment/settings.ts'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const numberPrefix = (fallback?: string) =>
  Type.String({
    maxLength: 32,
    pattern: '^[A-Za-z0-9/._-]*$',
    ...(fallback === undefined ? {} : { default: fallback }),
    description: 'Text before the year and number of invoices and credit notes',
  })

const invoices = section('Invoices and credit notes', {
  number_prefix: numberPrefix(''),
  due_days: wholeNumber(
    { minimum: 0, maximum: 365, default: 14 },
    'Days from the issue of an invoice to its due date',
  ),
  font: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Path of a TrueType font for PDF files instead of DejaVu Sans, for scripts that DejaVu Sans lacks',
    }),
  ),
  vendors: vendors(Type.Object({ number_prefix: Type.Optional(numberPrefix()) })),
})

const dunningDays = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, maximum: 365, default: fallback }, description)

const dunning = section('Steps for unpaid invoices', {
  attempt_days: Type.Array(Type.Integer({ minimum: 1, maximum: 365 }), {
    default: [3, 7, 14],
    maxItems: 20,
    description: 'Days after the first refusal on which the server retries a payment, in ascending order',
  }),
  grace_days: dunningDays(7, 'Days after the last attempt until the account is delinquent'),
  uncollectible_days: dunningDays(60, 'Days from then until the invoice is uncollectible; 0: it stays open'),
  of_balances: Type.Boolean({
    default: false,
    description: 'Also apply these steps to invoices that are paid from a balance, from their due date',
  }),
})

const topup = section('Automatic top-ups', {
  enable: Type.Boolean({
    default: false,
    description: 'Top up accounts automatically by their `topup`',
  }),
})

export const invoiceSettings = settingsDocument('services.invoices', invoices)
export const dunningSettings = settingsDocument('services.dunning', dunning)
export const topupSettings = settingsDocument('topup', topup)
