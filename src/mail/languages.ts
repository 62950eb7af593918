import type { Values } from '../lib/template.ts'

/** The languages of the built-in emails. */
export const languages = ['en', 'de'] as const

export type Language = (typeof languages)[number]

/** A text that is the same in all languages, or one for each. */
export type Localized = string | Readonly<Record<Language, string>>

export const byLanguage = <T>(make: (language: Language) => T): Record<Language, T> => ({
  en: make('en'),
  de: make('de'),
})

/** `tag` is the `language` of a user or account, such as `de-DE`. Other languages get English. */
export const languageOf = (tag: string | undefined): Language => {
  const [primary = ''] = (tag ?? '').toLowerCase().split(/[-_]/)
  return languages.find((language) => language === primary) ?? 'en'
}

export const localized = (text: Localized, language: Language) =>
  typeof text === 'string' ? text : text[language]

export const valuesIn = (texts: Readonly<Record<string, Localized>>, language: Language): Values =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, localized(text, language)]))
