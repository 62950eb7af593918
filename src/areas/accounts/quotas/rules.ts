import { isFileKind } from '../../../lib/file-kinds.ts'
import { valuesIn } from '../../../lib/json-values.ts'
import type { SettingsOf } from '../../../settings/keys.ts'
import type { quotaSettings } from './settings.ts'

export type QuotaRules = SettingsOf<typeof quotaSettings>

// The server deletes these after a time.
const temporaryKinds = new Set(['login_attempt', 'revoked_token'])

export const isLimitedKind = (kind: string) => !temporaryKinds.has(kind)

export const quotasOf = (rules: QuotaRules, accountId: string) => {
  const own = Object.hasOwn(rules.accounts, accountId) ? rules.accounts[accountId] : undefined
  return {
    records: (kind: string) =>
      own?.records_of_kind?.[kind] ?? own?.records ?? rules.records_of_kind[kind] ?? rules.records,
    subAccounts: own?.sub_accounts ?? rules.sub_accounts,
    fileBytes: own?.file_bytes ?? rules.file_bytes,
    taskInputBytes: own?.task_input_bytes ?? rules.task_input_bytes,
  }
}

// A character of JavaScript is at most three bytes of UTF-8: most texts need not be looked at.
const maxBytesOfCharacter = 3

interface RecordTexts {
  kind: string
  docText: string
  hiddenText: string
}

/** The size of a record in bytes if it exceeds `limit`, else undefined. Files have their own limits. */
export const bytesAbove = ({ kind, docText, hiddenText }: RecordTexts, limit: number): number | undefined => {
  const hidden = isFileKind(kind) ? '' : hiddenText
  if ((docText.length + hidden.length) * maxBytesOfCharacter <= limit) return undefined
  const bytes = Buffer.byteLength(docText) + Buffer.byteLength(hidden)
  return bytes > limit ? bytes : undefined
}

// Each needs a comma or a bracket.
const leastBytesOfValue = 2

/** The values of a JSON text that has more than `limit`; else undefined. */
export const valuesAbove = (text: string, limit: number): number | undefined => {
  if (text.length <= leastBytesOfValue * limit) return undefined
  const values = valuesIn(text)
  return values > limit ? values : undefined
}
