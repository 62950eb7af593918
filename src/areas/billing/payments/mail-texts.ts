import type { Localized } from '../../../mail/languages.ts'
import type { invoiceStatuses } from './invoices/rules.ts'
import type { TransactionType } from './transactions/rules.ts'

export const typeTexts: Readonly<Record<TransactionType, Localized>> = {
  sale: { en: 'Payment', de: 'Zahlung' },
  refund: { en: 'Refund', de: 'Erstattung' },
}

export const statusTexts: Readonly<Record<(typeof invoiceStatuses)[number], Localized>> = {
  draft: { en: 'draft', de: 'Entwurf' },
  open: { en: 'open', de: 'offen' },
  paid: { en: 'paid', de: 'bezahlt' },
  void: { en: 'void', de: 'storniert' },
  uncollectible: { en: 'uncollectible', de: 'uneinbringlich' },
}

export const balanceTooLow = {
  en: 'the balance is lower than the amount due',
  de: 'das Guthaben ist niedriger als der fällige Betrag',
}
