import { locale } from '../../lib/texts.ts'

/** Countries by their names in the language of the texts. */
export const countriesIn = (codes: readonly (string | number)[]) => {
  const names = new Intl.DisplayNames([locale()], { type: 'region', fallback: 'code' })
  const all = codes.length === 0 ? ['US'] : codes.map(String)
  return all
    .map((code) => ({ value: code, label: `${names.of(code) ?? code} (${code})` }))
    .sort((one, other) => one.label.localeCompare(other.label))
}
