import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { crosspoint } from './api.ts'

/** The languages that there is a file for, and how each calls itself. */
export const languages = { en: 'English', de: 'Deutsch' } as const
type Language = keyof typeof languages

const files = {
  en: () => import('../../texts/en.json'),
  de: () => import('../../texts/de.json'),
} satisfies Record<Language, () => Promise<{ default: object }>>

const chosenKey = 'crosspoint.language'

const isLanguage = (text: string | undefined): text is Language => text !== undefined && text in files

const languageIn = (tag: string | null | undefined) => {
  const language = tag?.slice(0, 2).toLowerCase()
  return isLanguage(language) ? language : undefined
}

/** The choice in this browser comes first, then the language of the user, then that of the browser. */
const wanted = (): Language =>
  languageIn(localStorage.getItem(chosenKey)) ??
  languageIn(crosspoint.session()?.login.language) ??
  navigator.languages.map(languageIn).find((one) => one !== undefined) ??
  'en'

const use = async (language: Language) => {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    const { default: texts } = await files[language]()
    i18next.addResourceBundle(language, 'translation', texts)
  }
  await i18next.changeLanguage(language)
  document.documentElement.lang = language
}

/** A text that is missing in another language is shown in English. */
export const startTexts = async () => {
  await i18next.use(initReactI18next).init({
    fallbackLng: 'en',
    resources: { en: { translation: (await files.en()).default } },
    // React escapes what it shows.
    interpolation: { escapeValue: false },
  })
  await use(wanted())
}

/** After sign-in: the language of the user, unless another one was chosen in this browser. */
export const followUserLanguage = () => use(wanted())

export const chooseLanguage = (language: Language) => {
  localStorage.setItem(chosenKey, language)
  return use(language)
}

// A browser may name a language of its system that is none, such as `en-US@posix`.
const isTag = (text: string) => /^[a-z]{2,3}(-[a-z\d]+)*$/i.test(text)

/** How numbers, money and times are written: the browser's own rules for the language of the texts. */
export const locale = () =>
  navigator.languages.find((tag) => tag.startsWith(i18next.language) && isTag(tag)) ?? i18next.language
